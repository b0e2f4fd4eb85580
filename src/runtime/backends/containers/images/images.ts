import { readFileSync } from "node:fs";
import { join } from "node:path";
import type Docker from "dockerode";
import { SandboxError } from "../../../../kit/errors.js";
import { PACKAGE_ROOT } from "../../../../kit/package-root.js";
import { explainDockerFailure } from "../daemon/explain-failure.js";
import { DEFAULT_TAG } from "../docker-config.js";
import { buildFromDebian } from "./from-debootstrap.js";
import { buildFromRegistry, getBaseImage } from "./from-registry.js";
import { type ImageBuild, type ImageOrigin, PACKAGE_SETS, type PackageSet } from "./image-build.js";

/** The version of Skerry that made an image; by this ours are found. */
export const IMAGE_LABEL = "dev.skerry.image";
const LANGUAGES_LABEL = "dev.skerry.languages";
const SETS_LABEL = "dev.skerry.with";

export interface BuildImageOptions {
  readonly tag?: string;
  readonly sets?: readonly PackageSet[];
  /** Left out or "auto": a registry's base where there is one, else Debian's packages. */
  readonly from?: ImageOrigin | "auto";
  /** The network of the build's own containers, when it is from a registry. Left out: the daemon's default. */
  readonly network?: string;
  /** Cancels; nothing of the build stays. */
  readonly signal?: AbortSignal;
  /** A new step begins. */
  readonly onStep?: (text: string) => void;
  /** Something small happened in the step. */
  readonly onDetail?: (text: string) => void;
}

/** One of our images in a daemon. */
export interface OwnImage {
  readonly tags: readonly string[];
  readonly id: string;
  readonly sizeBytes: number;
  readonly createdAt: Date;
  /** The version of Skerry that made it. */
  readonly version: string;
  readonly languages: readonly string[];
  readonly sets: readonly string[];
}

export interface BuiltImage extends OwnImage {
  readonly tag: string;
  readonly from: ImageOrigin;
}

/** Builds the sandbox image in a daemon. The image that had the tag goes when it is ours and nothing uses it. */
export async function buildImage(docker: Docker, options: BuildImageOptions = {}): Promise<BuiltImage> {
  const { from = "auto", onStep = () => undefined, onDetail = () => undefined } = options;
  const tag = parseTag(options.tag ?? DEFAULT_TAG);
  const sets = PACKAGE_SETS.filter((set) => options.sets?.includes(set));
  const labels = { [IMAGE_LABEL]: packageVersion(), [SETS_LABEL]: sets.join(",") };
  const signal = options.signal ?? new AbortController().signal;
  const order = { docker, tag, sets, labels, network: options.network, signal, onStep, onDetail };
  try {
    const previous = await findOwnImage(docker, tag);
    const origin = from === "debootstrap" ? from : await buildWhereBaseIs(order, from === "auto");
    if (origin === "debootstrap") await buildFromDebian(order, { isLastResort: from === "auto" });
    const image = await findOwnImage(docker, tag);
    if (image === undefined) throw new SandboxError("INTERNAL", `the daemon lost the image ${tag}`);
    if (previous !== undefined && previous.id !== image.id && previous.tags.length <= 1) {
      // In use, or the parent of another: then it stays.
      await docker
        .getImage(previous.id)
        .remove()
        .catch(() => undefined);
    }
    return { tag, from: origin, ...image };
  } catch (error) {
    signal.throwIfAborted();
    throw explainDockerFailure(error);
  }
}

/** Builds from the registry's base; resolves to "debootstrap" when there is none and another way may be taken. */
async function buildWhereBaseIs(order: ImageBuild, mayGoOn: boolean): Promise<ImageOrigin> {
  try {
    await getBaseImage(order);
  } catch (error) {
    order.signal.throwIfAborted();
    const failure = explainDockerFailure(error);
    if (failure.code === "BACKEND_UNAVAILABLE" || failure.code === "DISK_FULL") throw failure;
    if (!mayGoOn) throw noBase(failure);
    order.onStep(`there is no base image (${failure.message}): making one from Debian's packages`);
    return "debootstrap";
  }
  await buildFromRegistry(order);
  return "registry";
}

function noBase(cause: SandboxError): SandboxError {
  return new SandboxError("IMAGE_MISSING", `there is no base image: ${cause.message}`, {
    hint: "Can the daemon reach the registry? Without one, as root: skerry image build --from debootstrap",
    cause,
  });
}

/** The images of a daemon that `buildImage` made, and those of the names, the newest first. */
export async function listImages(docker: Docker, names: readonly string[] = []): Promise<OwnImage[]> {
  try {
    const [ours, others] = await Promise.all([
      docker.listImages({ filters: { label: [IMAGE_LABEL] } }),
      names.length === 0 ? [] : docker.listImages({ filters: { reference: [...names] } }),
    ]);
    const images = [...ours, ...others.filter(({ Id }) => ours.every((each) => each.Id !== Id))];
    return images.map(describeImage).sort((a, b) => Number(b.createdAt) - Number(a.createdAt));
  } catch (error) {
    throw explainDockerFailure(error);
  }
}

async function findOwnImage(docker: Docker, tag: string): Promise<OwnImage | undefined> {
  const filters = { label: [IMAGE_LABEL], reference: [tag] };
  return (await docker.listImages({ filters })).map(describeImage)[0];
}

function describeImage({ Id, RepoTags, Size, Created, Labels }: Docker.ImageInfo): OwnImage {
  const words = (label: string) => (Labels?.[label] ?? "").split(",").filter((word) => word !== "");
  return {
    tags: (RepoTags ?? []).filter((tag) => tag !== "<none>:<none>"),
    id: Id,
    sizeBytes: Size,
    createdAt: new Date(Created * 1000),
    version: Labels?.[IMAGE_LABEL] ?? "",
    languages: words(LANGUAGES_LABEL),
    sets: words(SETS_LABEL),
  };
}

/** "name" or "name:tag", as the daemon will list it. */
export function parseTag(text: string): string {
  const name = /^(?:[\w.-]+(?::\d+)?\/)?[a-z0-9]+(?:[._/-]+[a-z0-9]+)*/.exec(text)?.[0];
  const rest = name === undefined ? undefined : text.slice(name.length);
  if (name !== undefined && rest === "") return `${name}:latest`;
  if (rest !== undefined && /^:[\w][\w.-]{0,127}$/.test(rest)) return text;
  throw new SandboxError("INVALID_ARGUMENT", `${JSON.stringify(text)} is not the name of an image`, {
    hint: 'Expected lower case, such as "skerry-sandbox:latest".',
  });
}

function packageVersion(): string {
  const text = readFileSync(join(PACKAGE_ROOT, "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
