import { userInfo } from "node:os";
import { setImmediate as nextTurn } from "node:timers/promises";
import { SandboxError } from "../../kit/errors.js";
import type { Dialogue, DialogueStreams } from "./dialogue.js";
import type { Edited } from "./editor.js";
import { createPaint } from "./paint.js";
import type {
  ConfirmationAnswer,
  ConfirmationRequest,
  ConfirmationService,
  ConfirmOptions,
} from "./request.js";
import { requestText, summaryText } from "./request-text.js";

export interface TerminalConfirmationOptions {
  /** Left out: the terminal that this process was started from. */
  readonly streams?: DialogueStreams;
  /** NO_COLOR, TERM, VISUAL and EDITOR are looked at; this process' own if left out. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** False: this process ends before a session could go on, so an approval for it could not be remembered. */
  readonly offersSession?: boolean;
}

const QUESTION = "Run it? [y] once  [s] yes, also later in this session  [e] edit  [n] no > ";
const QUESTION_WITHOUT_SESSION = "Run it? [y] yes  [e] edit  [n] no > ";
/** Between two of these a timeout or a Ctrl-C gets its turn. */
const CHUNK_LENGTH = 64 * 1024;

/**
 * Asks the person at the terminal, whatever standard input and output are; on given streams if there are any. Without
 * a terminal and at the end of input the answer is no; Ctrl-C cancels the call.
 */
export class TerminalConfirmationService implements ConfirmationService {
  readonly name = "terminal";
  readonly #options: TerminalConfirmationOptions;
  /** One question at a time on one terminal. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: TerminalConfirmationOptions = {}) {
    this.#options = options;
  }

  confirm(request: ConfirmationRequest, options: ConfirmOptions): Promise<ConfirmationAnswer> {
    const answer = this.#last.then(() => this.#confirm(request, options));
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  async #confirm(given: ConfirmationRequest, options: ConfirmOptions): Promise<ConfirmationAnswer> {
    const { signal, stopClock } = options;
    let request = given;
    signal.throwIfAborted();
    let dialogue = await this.#open(signal);
    if (dialogue === undefined) {
      return { decision: "reject", reason: "This needs a confirmation, and there is no terminal to ask on" };
    }
    try {
      await show(dialogue, requestText(request, this.#layout(dialogue)), signal);
      for (;;) {
        const choice = await this.#choose(dialogue, request, signal);
        if (choice === "left") return { decision: "reject", reason: "The question was not answered" };
        if (choice !== "edit") return { ...choice, ...signature() };
        // An editor and we cannot both read from a terminal.
        if (dialogue.isTerminal) dialogue.close();
        const startClock = stopClock?.();
        const edited = await this.#edit(request, signal);
        if (startClock !== undefined) request = { ...request, expiresAt: startClock() };
        if ("text" in edited) return { decision: "edit", code: edited.text, ...signature() };
        if (dialogue.isTerminal) dialogue = (await this.#open(signal)) ?? dialogue;
        signal.throwIfAborted();
        await dialogue.write(`${edited.problem}.\n`);
      }
    } finally {
      if (signal.aborted) await dialogue.write("\nNo answer is needed any more.\n");
      dialogue.close();
    }
  }

  async #choose(
    dialogue: Dialogue,
    request: ConfirmationRequest,
    signal: AbortSignal,
  ): Promise<Exclude<ConfirmationAnswer, { decision: "edit" }> | "edit" | "left"> {
    await show(dialogue, summaryText(request, this.#layout(dialogue), new Date()), signal);
    // A key that was hit before the question stood there answers nothing.
    dialogue.discardTyped();
    const hasSession = request.sessionId !== "" && this.#options.offersSession !== false;
    const question = hasSession ? QUESTION : QUESTION_WITHOUT_SESSION;
    let answered = await dialogue.ask(question);
    for (;;) {
      signal.throwIfAborted();
      switch (answered?.trim().toLowerCase()) {
        case "y":
        case "yes":
          return { decision: "approve", scope: "once" };
        case "s":
        case "session":
          return { decision: "approve", scope: hasSession ? "session" : "once" };
        case "e":
        case "edit":
          return "edit";
        case "n":
        case "no": {
          const reason = await dialogue.ask("Why not? (may be left empty) > ");
          signal.throwIfAborted();
          return { decision: "reject", ...(reason?.trim() && { reason: reason.trim() }) };
        }
        case undefined:
          if (dialogue.wasInterrupted()) {
            await dialogue.write("\nCancelled.\n");
            throw new SandboxError("CANCELLED", "Cancelled with Ctrl-C at the question");
          }
          await dialogue.write("\nRejected.\n");
          return "left";
        default:
          await dialogue.write(`Please type y, ${hasSession ? "s, " : ""}e or n, and Enter.\n`);
          answered = await dialogue.ask(question);
      }
    }
  }

  async #edit({ code, language }: ConfirmationRequest, signal: AbortSignal): Promise<Edited> {
    const [{ withTerminal }, { editText }] = await Promise.all([
      import("./dialogue.js"),
      import("./editor.js"),
    ]);
    return withTerminal(this.#options.streams, (terminal) =>
      editText(code, { language, env: this.#env(), terminal, signal }),
    );
  }

  /** Loaded with the first question: readline and tty would slow down every start. */
  async #open(signal: AbortSignal): Promise<Dialogue | undefined> {
    const { createDialogue, openTerminalDialogue } = await import("./dialogue.js");
    const { streams } = this.#options;
    return streams === undefined ? openTerminalDialogue(signal) : createDialogue(streams, signal);
  }

  #layout({ isTerminal, columns }: Dialogue) {
    return { columns, paint: createPaint(isTerminal, this.#env()) };
  }

  #env(): Readonly<Record<string, string | undefined>> {
    return this.#options.env ?? process.env;
  }
}

/** Writes row by row, however many there are. */
async function show(dialogue: Dialogue, rows: Iterable<string>, signal: AbortSignal): Promise<void> {
  let chunk = "";
  for (const row of rows) {
    chunk += `${row}\n`;
    if (chunk.length < CHUNK_LENGTH) continue;
    await dialogue.write(chunk);
    chunk = "";
    await nextTurn();
    signal.throwIfAborted();
  }
  await dialogue.write(chunk);
}

/** The person at the terminal counts as the user of this process. */
function signature(): { by?: string } {
  try {
    return { by: userInfo().username };
  } catch {
    return {};
  }
}
