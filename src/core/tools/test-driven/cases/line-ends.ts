/**
 * Text without white space at the ends of its lines, and at its own: nobody's mistake, and no difference between programs. It
 * takes one look at each character, whoever wrote them.
 */
export function withoutLineEnds(text: string): string {
  return text.split("\n").map(withoutEnd).join("\n").trimEnd();
}

function withoutEnd(line: string): string {
  let end = line.length;
  while (end > 0 && " \t\r".includes(line[end - 1]!)) end--;
  return line.slice(0, end);
}
