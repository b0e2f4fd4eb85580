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

/** What no configuration means. */
export const DOCKER_DEFAULTS: DockerConfig = {
  image: "skerry-sandbox:latest",
  images: {},
  networkMode: "none",
  shareFiles: "auto",
};
