import type { Diagnosis } from "../../../core/manager/index.js";
import type { Paint } from "../../../guard/confirmation/index.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import { count } from "../../../kit/format-quantity.js";

/** Something to do about this host, and what for. */
interface Suggestion {
  readonly what: string;
  readonly remedy: string;
}

/** What could be better, the likeliest first, each remedy once. */
function suggestionsOf({ backends, languages, checklist, fixes }: Diagnosis): Suggestion[] {
  const all = [
    ...backends.filter(({ capabilities }) => capabilities.isolates).flatMap(({ problems }) => problems),
    ...languages
      .filter(({ available }) => !available)
      .map(({ name }) => {
        const what = `no interpreter for ${name}`;
        return { what, remedy: fixes.find((fix) => fix.what === what)?.command ?? "install one below /usr" };
      }),
    ...checklist
      .filter(({ ok }) => !ok)
      .map(({ what, detail }) => ({ what: `not yet: ${what}`, remedy: detail })),
  ];
  return all.filter((each, index) => all.findIndex(({ remedy }) => remedy === each.remedy) === index);
}

/** `Ready: bubblewrap. 2 suggestions.` */
export function verdictOf(diagnosis: Diagnosis, paint: Paint): string {
  const ready = diagnosis.backends.find(({ available, capabilities }) => available && capabilities.isolates);
  const verdict =
    ready === undefined
      ? paint("red", "Not ready: nothing isolates code here.")
      : paint("green", `Ready: ${ready.name}.`);
  const { length } = suggestionsOf(diagnosis);
  return length === 0 ? verdict : `${verdict} ${count(length, "suggestion", "suggestions")}.`;
}

/** The verdict, and what to do; the rest is for who asks. */
export function describeVerdict(diagnosis: Diagnosis, paint: Paint): string {
  const suggestions = suggestionsOf(diagnosis).map(
    ({ what, remedy }) => `  ${paint("yellow", escapeUnsafe(what))}\n    ${escapeUnsafe(remedy)}\n`,
  );
  const fix = diagnosis.fixes.length === 0 ? "" : "skerry doctor --fix installs what is missing; ";
  return [
    `${verdictOf(diagnosis, paint)}\n`,
    ...suggestions,
    `${fix}skerry doctor -v has the details.\n`,
  ].join("");
}
