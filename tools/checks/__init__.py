"""The checks in the order in which they run, quick ones first. Each has NAME and run(tree) -> findings."""
from . import (banned, dead, defects, dialect, formatting, headers, lengths, links, parity, places,
               prose, quarantine, rooms, symbols, tidy, uncalled, unnamed)

# They take seconds and need no build.
QUICK = (rooms, banned, defects, quarantine, lengths, links, dead, uncalled, unnamed, parity, places, dialect,
         prose, formatting)
ALL = QUICK + (symbols, headers, tidy)
