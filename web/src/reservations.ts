// Which cells the scheduler keeps, and for whom.

import type { Reservation, ReservationsPage } from "./store.ts";

export const purposes: Record<Reservation["purpose"], string> = {
  Overtaken: "others overtook it for too long", Preemption: "pods leave for it", Nomination: "it is nominated for the node",
  Replacement: "its members lost their nodes", Relocation: "pods move to make room for it", Successor: "a pod that left comes back",
};
export function reservedFor(room: Reservation): string { return `${room.namespace}/${room.name}`; }

// One byte a cell, 1 for those that are kept; null: none is.
export function keptCells(page: ReservationsPage | null, count: number): Uint8Array | null {
  if (!page?.rooms.some((room) => room.cells.length > 0)) return null;
  const kept = new Uint8Array(count);
  for (const room of page.rooms) for (const [first, length] of room.cells) kept.fill(1, first, first + length);
  return kept;
}

// The rooms that have the cell: several may, as later ones wait behind earlier ones.
export function roomsWith(page: ReservationsPage | null, cell: number): Reservation[] {
  return page?.rooms.filter((room) => room.cells.some(([first, length]) => cell >= first && cell < first + length)) ?? [];
}
