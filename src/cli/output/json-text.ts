/** Characters that act on a terminal or hide, and that JSON itself lets pass. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

/** A value as one line of JSON that means the same, and in which nothing acts on a terminal that shows it. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value).replace(UNSAFE, (character) =>
    Array.from(
      { length: character.length },
      (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`,
    ).join(""),
  );
}
