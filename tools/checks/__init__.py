"""The checks in the order in which they run, quick ones first. Each has NAME and run(tree) -> findings."""
from . import (banned, dead, defects, dialect, formatting, headers, lengths, links, places, quarantine, rooms,
               tidy)

ALL = (rooms, banned, defects, quarantine, lengths, links, dead, places, dialect, formatting, headers, tidy)
