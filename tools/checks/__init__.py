"""The checks in the order in which they run, quick ones first. Each has NAME and run(tree) -> findings."""
from . import (banned, dead, defects, dialect, formatting, headers, lengths, links, parity, places,
               quarantine,
               rooms, symbols, tidy, uncalled)

ALL = (rooms, banned, defects, quarantine, lengths, links, dead, uncalled, parity, symbols, places, dialect,
       formatting, headers, tidy)
