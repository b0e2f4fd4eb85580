import { join } from "node:path";
import type Docker from "dockerode";
import { PACKAGE_ROOT } from "../../../../kit/package-root.js";

/** What images are built from, in the checkout and in the package. */
export const IMAGE_DIRECTORY = join(PACKAGE_ROOT, "deploy/images/sandbox");

/** Package sets that an image may have besides its base. */
export const PACKAGE_SETS = ["data", "tools"] as const;
export type PackageSet = (typeof PACKAGE_SETS)[number];

/** Where an image is made from: a registry's base image, or Debian's packages. */
export const IMAGE_ORIGINS = ["registry", "debootstrap"] as const;
export type ImageOrigin = (typeof IMAGE_ORIGINS)[number];

/** What each way of building is given. */
export interface ImageBuild {
  readonly docker: Docker;
  readonly tag: string;
  readonly sets: readonly PackageSet[];
  readonly labels: Readonly<Record<string, string>>;
  readonly network: string | undefined;
  readonly signal: AbortSignal;
  readonly onStep: (text: string) => void;
  readonly onDetail: (text: string) => void;
}
