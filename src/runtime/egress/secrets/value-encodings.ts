/** How a value is written in different places. Each form stays within its place, whatever the value holds. */
export const FORMS = {
  plain: (value: string) => value,
  percent: (value: string) =>
    encodeURIComponent(value).replace(
      /[!'()*]/g,
      (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
    ),
  json: (value: string) => JSON.stringify(value).slice(1, -1),
  xml: (value: string) => value.replace(/[&<>"']/g, (character) => XML[character]!),
} as const;

const XML: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

export type Form = keyof typeof FORMS;

/** The form of a value in a body of this type. */
export function formFor(contentType: string | undefined): Form {
  const type = (contentType ?? "").split(";", 1)[0]!.trim().toLowerCase();
  if (type === "application/json" || type.endsWith("+json") || type.endsWith("/x-ndjson")) return "json";
  if (type === "application/x-www-form-urlencoded") return "percent";
  if (type.endsWith("/xml") || type.endsWith("+xml")) return "xml";
  return "plain";
}

/** The forms in which a server may repeat a value that it was sent. */
export function echoesOf(value: string): Buffer[] {
  const percent = FORMS.percent(value);
  const texts = [
    value,
    percent,
    percent.replace(/%[0-9A-F]{2}/g, (escaped) => escaped.toLowerCase()),
    encodeURIComponent(value),
    encodeURI(value),
    percent.replaceAll("%20", "+"),
    FORMS.json(value),
    FORMS.json(value).replaceAll("/", "\\/"),
    asciiJson(value),
    FORMS.xml(value),
    FORMS.xml(value).replaceAll("&#39;", "&#x27;").replaceAll("&quot;", "&#34;"),
    ...base64Of(Buffer.from(value)),
  ];
  return [...new Set(texts)].map((text) => Buffer.from(text));
}

/** As Python and PHP write JSON. */
function asciiJson(value: string): string {
  return FORMS.json(value).replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** What base64 makes of it wherever it stands in a text: the characters that are made of its bytes alone. */
function base64Of(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes]);
    const range = [Math.ceil((before * 8) / 6), Math.floor((whole.length * 8) / 6)] as const;
    return (["base64", "base64url"] as const).map((encoding) => whole.toString(encoding).slice(...range));
  });
}
