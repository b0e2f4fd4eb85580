/** Rows as lines with columns of even width; the last column is never padded. */
export function formatTable(
  rows: readonly (readonly string[])[],
  alignments: readonly ("left" | "right")[] = [],
): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, width(cell));
  }
  return rows
    .map((row) => {
      const cells = row.map((cell, index) => {
        const padding = " ".repeat(widths[index]! - width(cell));
        if (alignments[index] === "right") return padding + cell;
        return index === row.length - 1 ? cell : cell + padding;
      });
      return `${cells.join("  ")}\n`;
    })
    .join("");
}

/** Characters as they stand on a terminal, without colours. */
function width(cell: string): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters
  return [...cell.replace(/\x1b\[\d+m/g, "")].length;
}
