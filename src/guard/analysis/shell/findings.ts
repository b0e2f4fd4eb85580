import { baseName, type Field, known } from "./fields.js";
import type { ShellBomb, ShellCommand, ShellProblem } from "./shell-program.js";
import type { Call } from "./walker.js";

const MAX_COMMANDS = 20_000;
const MAX_PROBLEMS = 100;

/** A place in the text that was given first. */
export type Position = (place: number) => { readonly line: number; readonly column: number };

/** The commands and problems that a walk has come across. */
export class Findings {
  readonly commands: ShellCommand[] = [];
  readonly problems: ShellProblem[] = [];
  readonly bombs: ShellBomb[] = [];
  private readonly unknown = new Set<string>();

  constructor(private readonly position: Position) {}

  problem(place: number, what: string): void {
    const { line, column } = this.position(place);
    const same = (each: ShellProblem) => each.line === line && each.column === column && each.what === what;
    if (this.problems.length < MAX_PROBLEMS && !this.problems.some(same))
      this.problems.push({ line, column, what });
  }

  bomb(kind: ShellBomb["kind"], place: number): void {
    if (this.bombs.length < MAX_PROBLEMS) this.bombs.push({ kind, ...this.position(place) });
  }

  emit(call: Call): void {
    const [name, ...args] = call.fields;
    this.add(call, name === undefined ? undefined : baseName(name), name && known(name.text), args);
  }

  emitUnknown(call: Call, ...via: readonly string[]): void {
    const args = via.length === 0 ? call.fields.slice(1) : [];
    const path = [...call.via, ...via];
    // The same place may be unknown for several reasons.
    const key = JSON.stringify([call.place, path, args]);
    if (this.unknown.has(key)) return;
    this.unknown.add(key);
    const reads = [...call.reads, ...call.made.filter((each) => !call.reads.includes(each))];
    this.add({ ...call, via: path, reads }, undefined, undefined, args);
  }

  /** Redirections without a command still make and empty files; assignments change what later names mean. */
  emitNothing(call: Call): void {
    this.add({ ...call, reads: [] }, ":", ":", []);
  }

  private add(call: Call, name: string | undefined, path: string | undefined, args: readonly Field[]): void {
    if (this.commands.length >= MAX_COMMANDS) {
      this.problem(call.place, `more than ${MAX_COMMANDS} commands`);
      return;
    }
    this.commands.push({
      name,
      path,
      args: args.map((field) => known(field.text)),
      patterns: args.flatMap((field, index) => (field.pattern ? [index] : [])),
      ...this.position(call.place),
      via: call.via,
      redirects: call.redirects,
      reads: call.reads,
      assignments: call.assignments,
      ...(call.byProgram && { byProgram: true }),
    });
  }
}
