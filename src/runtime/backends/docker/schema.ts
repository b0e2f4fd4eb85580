import { z } from "zod";
import { languageName, runtimeName, text } from "../../../kit/schema-fields.js";
import { DOCKER_DEFAULTS } from "../containers/docker-config.js";

const imageName = text.regex(
  /^[a-z0-9][\w.:/@-]*$/,
  'expected the name of an image such as "skerry-sandbox:latest"',
);

export const dockerSchema = z
  .strictObject({
    image: imageName.default(DOCKER_DEFAULTS.image),
    networkMode: text
      .regex(/^[a-z0-9][\w.-]*$/i, 'expected "none", "bridge" or the name of a network')
      .refine((mode) => mode !== "host", {
        error: '"host" would give the sandbox the network of this machine',
      })
      .default(DOCKER_DEFAULTS.networkMode),
    images: z.record(languageName, imageName).default(() => ({})),
    host: text
      .regex(
        /^(?:unix|tcp|https?|ssh):\/\/./,
        'expected an address such as "unix:///run/docker.sock" or "tcp://host:2376"',
      )
      .optional(),
    runtime: runtimeName.optional(),
    shareFiles: z.enum(["auto", "always", "never"]).default(DOCKER_DEFAULTS.shareFiles),
  })
  .prefault({});
