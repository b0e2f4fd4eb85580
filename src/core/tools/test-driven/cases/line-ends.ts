/**
 * Text without white space at the ends of its lines and at its own end: programs that differ only there are equal. Linear in
 * the length of the text, which may be hostile.
 */
export function withoutLineEnds(text: string): string {
  return text.split("\n").map(withoutEnd).join("\n").trimEnd();
}

function withoutEnd(line: string): string {
  let end = line.length;
  while (end > 0 && " \t\r".includes(line[end - 1]!)) end--;
  return line.slice(0, end);
}
