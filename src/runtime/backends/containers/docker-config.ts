/** The block `docker`, which every backend of containers reads. */
export interface DockerConfig {
  readonly image: string;
  /** By language, where one has an image of its own; the others use `image`. */
  readonly images: Readonly<Record<string, string>>;
  readonly networkMode: string;
  /** The daemon's address. Left out: DOCKER_HOST, then the usual sockets. */
  readonly host?: string;
  /** Left out: the daemon's default. */
  readonly runtime?: string;
  /**
   * Whether the daemon sees this host's directories. `auto`: when root asks a daemon on a local socket; otherwise
   * files go over the wire.
   */
  readonly shareFiles: "auto" | "always" | "never";
}

/** The image that is built and used where the configuration names none. */
export const DEFAULT_TAG = "skerry-sandbox:latest";

/** What no configuration means. */
export const DOCKER_DEFAULTS: DockerConfig = {
  image: DEFAULT_TAG,
  images: {},
  networkMode: "none",
  shareFiles: "auto",
};
