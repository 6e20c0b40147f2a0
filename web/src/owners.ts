// Which colour an owner has: the largest have one each, the next ones the same colours with stripes.

import { type Floor, type Owner, ownerText } from "./floor.ts";

export const ownerColours = 8;
export const ownerSlots = 2 * ownerColours; // from ownerColours on, striped
export interface OwnerRow { id: number; owner: Owner; cells: number; slot: number } // slot -1: grey, with all others

// Keeps an owner's slot as long as it is among the largest, so that colours do not jump while others come and go.
export class OwnerColours {
  private kept = new Map<string, number>();
  rows: OwnerRow[] = []; // the largest first
  slots = new Int16Array(0); // by an owner's number

  update(floor: Floor): void {
    const cells = new Map<number, number>();
    for (const id of floor.owner) if (id > 0) cells.set(id, (cells.get(id) ?? 0) + 1);
    const rows: (OwnerRow & { text: string })[] = [];
    for (const [id, count] of cells) {
      const owner = floor.owners.get(id);
      if (owner) rows.push({ id, owner, cells: count, slot: -1, text: ownerText(owner) });
    }
    rows.sort((a, b) => b.cells - a.cells || (a.text < b.text ? -1 : 1));
    const largest = rows.slice(0, ownerSlots);
    const free = new Set(Array.from({ length: ownerSlots }, (_, slot) => slot));
    for (const row of largest) {
      row.slot = this.kept.get(row.text) ?? -1;
      free.delete(row.slot);
    }
    for (const row of largest) {
      if (row.slot >= 0) continue;
      row.slot = free.values().next().value!;
      free.delete(row.slot);
    }
    this.kept = new Map(largest.map((row) => [row.text, row.slot]));
    this.rows = rows;
    this.slots = new Int16Array(rows.reduce((most, row) => Math.max(most, row.id), 0) + 1).fill(-1);
    for (const row of rows) this.slots[row.id] = row.slot;
  }
}
