import { expect, it } from "vitest";
import { holdsToken, reasonOfName } from "./left-out.js";
import { noteOn } from "./runs-outside.js";

const file = { type: "file", sha256: "", size: 0, executable: false } as const;

it.each(
  [
    ".env .env.local .env~ .env-prod .env_prod .ENV prod.env config/prod.env .flaskenv .envrc .envrc.local",
    "id_rsa id_rsa.bak id_ed25519 id_ed25519_sk id_ecdsa-work id_dsa server.pem server.pem.old a.ppk a.p12 a.pfx a.key a.jks",
    ".netrc .netrc.gpg .vault-token .s3cfg .boto .my.cnf .pgpass .dockercfg .cargo/credentials .cargo/credentials.toml",
    "x/.aws/credentials .gem/credentials .config/gh/hosts.yml application_default_credentials.json terraform.tfstate",
    "terraform.tfstate.backup prod.tfvars kubeconfig .docker/config.json",
  ].flatMap((line) => line.split(" ")),
)("leaves out as a secret: %s", (path) => expect(reasonOfName(path)).toBe("secret"));

it.each(
  ".env.example .env.sample .env.template id_rsa.pub id_ed25519.pub id_rsa_reader.pub environment.ts .environment env.py credentials key.ts src/keys/a.ts".split(
    " ",
  ),
)("copies in what is none: %s", (path) => expect(reasonOfName(path)).toBeUndefined());

it("knows a password in a registry's address", () => {
  expect(holdsToken("registry=https://user:word@packages.example/")).toBe(true);
  expect(holdsToken("registry=https://packages.example:8080/\nsave-exact=true")).toBe(false);
});

it.each(
  [
    ".gitignore .gitattributes sub/.GITMODULES justfile Rakefile Dockerfile dev/Dockerfile.test docker-compose.prod.yml",
    "compose.yaml vite.config.ts webpack.config.js eslint.config.mjs .eslintrc.cjs jest.config.js mise.toml .mise.toml",
    "flake.nix lefthook.yml Jenkinsfile pom.xml build.gradle GEMINI.md CLAUDE.local.md claude.md AGENTS.md .codex/config.toml",
    ".gemini/settings.json .zed/tasks.json MAKEFILE Package.json .ENVRC .VSCode/tasks.json",
  ].flatMap((line) => line.split(" ")),
)("says who reads %s", (path) => expect(noteOn(path, file, file)).toBeDefined());

it("says nothing of an ordinary file", () => expect(noteOn("src/compose.ts", file, file)).toBeUndefined());
