import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import type { ImageOrigin, PackageSet } from "../../../runtime/backends/index.js";
import { buildImage, connectDocker, listImages, type OwnImage } from "../../../runtime/backends/index.js";
import type { GlobalOptions } from "../../definition/index.js";
import { Interrupt } from "../../input/index.js";
import { readConfig } from "../../open/index.js";
import { formatTable, jsonText, paintFor, reportError, stderr, stdout } from "../../output/index.js";

export interface ImageBuildOptions extends GlobalOptions {
  readonly tag?: string;
  readonly with?: readonly PackageSet[];
  readonly from?: ImageOrigin | "auto";
  readonly network?: string;
  readonly json?: boolean;
}

/** `skerry image build`: steps on standard error, the image on standard output. */
export async function build(options: ImageBuildOptions): Promise<number> {
  const docker = await connect(options);
  using interrupt = new Interrupt();
  const progress = new ProgressLine();
  try {
    const image = await buildImage(docker, {
      ...(options.tag !== undefined && { tag: options.tag }),
      ...(options.network !== undefined && { network: options.network }),
      sets: options.with ?? [],
      from: options.from ?? "auto",
      signal: interrupt.signal,
      onStep: (text) => progress.step(text),
      onDetail: (text) => progress.detail(text),
    });
    progress.end();
    const { tag, from } = image;
    await stdout.write(
      options.json
        ? `${jsonText({ tag, from, ...plain(image) })}\n`
        : `${tag}  ${shortId(image.id)}  ${megabytes(image.sizeBytes)}\n`,
    );
    return 0;
  } catch (error) {
    progress.end();
    if (interrupt.status === undefined) throw error;
    if (!stdout.closed) await reportError(interrupt.signal.reason, options.json === true);
    return interrupt.status;
  }
}

/** `skerry image ls`. */
export async function list(options: GlobalOptions & { readonly json?: boolean }): Promise<number> {
  const { sandbox } = await readConfig(options);
  const { host, image: configured, images: ofLanguages } = sandbox.backends.docker;
  const names = [configured, ...Object.values(ofLanguages)];
  const images = await listImages(await connectDocker({ host }), names);
  if (options.json) {
    await stdout.write(`${jsonText(images.map(plain))}\n`);
  } else if (images.length === 0) {
    await stderr.write("no images; build one: skerry image build\n");
  } else {
    const paint = paintFor(stdout, options.color);
    const header = ["TAG", "ID", "SIZE", "CREATED", "LANGUAGES", "WITH"].map((title) => paint("bold", title));
    const rows = images.map((image) => [
      escapeUnsafe(image.tags.join(" ") || "–"),
      shortId(image.id),
      megabytes(image.sizeBytes),
      image.createdAt.toISOString().slice(0, 16).replace("T", " "),
      escapeUnsafe(image.languages.join(", ") || "–"),
      escapeUnsafe(image.sets.join(", ") || "–"),
    ]);
    await stdout.write(formatTable([header, ...rows]));
  }
  return 0;
}

async function connect(options: GlobalOptions): ReturnType<typeof connectDocker> {
  const { sandbox } = await readConfig(options);
  return connectDocker({ host: sandbox.backends.docker.host });
}

/** An image as JSON has it. */
function plain({ tags, id, sizeBytes, createdAt, version, languages, sets }: OwnImage): object {
  return { tags, id, sizeBytes, createdAt, version, languages, with: sets };
}

function shortId(id: string): string {
  return escapeUnsafe(id.replace(/^sha256:/, "").slice(0, 12));
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}

/** A line per step; on a terminal the last one is redrawn with what happens in it. */
class ProgressLine {
  #step: string | undefined;

  step(text: string): void {
    this.end();
    this.#step = `skerry: ${text}`;
    if (!stderr.isTerminal) void stderr.write(`${this.#step}\n`);
    else this.detail("");
  }

  detail(text: string): void {
    if (!stderr.isTerminal || this.#step === undefined) return;
    const line = text === "" ? this.#step : `${this.#step}: ${text}`;
    void stderr.write(`\r\x1b[K${line.slice(0, (process.stderr.columns ?? 80) - 1)}`);
  }

  end(): void {
    if (stderr.isTerminal && this.#step !== undefined) void stderr.write(`\r\x1b[K${this.#step}\n`);
    this.#step = undefined;
  }
}
