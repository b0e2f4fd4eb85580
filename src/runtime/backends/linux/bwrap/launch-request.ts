import { encodeFields, type Field, u32 } from "../../../wire/index.js";
import type { Limits } from "../../backend.js";
import type { WorkspaceMount } from "../workspace/workspace-mount.js";

/** The descriptor bubblewrap finds its seccomp filter on; guest/src/launch.c opens it. */
export const SECCOMP_FD = 4;

/** What guest/src/launch.c understands. */
const RequestField = {
  argument: 1,
  program: 2,
  cgroup: 3,
  identity: 4,
  limit: 5,
  seccomp: 6,
  oomScore: 7,
  image: 8,
  mountPoint: 9,
  command: 10,
  holder: 11,
  memory: 12,
  cells: 13,
  cover: 14,
  nothing: 15,
} as const;

/** Numbers of resource limits; the same on x86-64 and arm64. */
const Resource = {
  fileSize: 1,
  core: 4,
  processes: 6,
  openFiles: 7,
  lockedMemory: 8,
  messageQueues: 12,
} as const;

/** How to start one sandbox. */
export interface LaunchRequest {
  readonly bubblewrap: string;
  readonly arguments: readonly string[];
  /** What runs inside. */
  readonly command: string;
  readonly seccomp: Buffer;
  /** Where the guest finds the filter of programs, inside; it can then make cells. Left out: they have the one above. */
  readonly cellFilter?: string;
  readonly cgroupFiles: readonly string[];
  readonly identity?: { readonly uid: number; readonly gid: number };
  readonly limits: Limits;
  /** What to mount as the workspace, in the sandbox's view only; left out: the directory as it is. */
  readonly mount?: WorkspaceMount;
  readonly mountPoint: string;
  /** Directories of this host that every sandbox reads: each gets inodes of its own for them, where the kernel can. */
  readonly covers?: SharedDirectories;
}

export interface SharedDirectories {
  readonly paths: readonly string[];
  readonly empty: string;
}

/** The request as guest/src/launch.c reads them; what follows it on the wire is the guest's. */
export function encodeLaunchRequest(request: LaunchRequest): Buffer {
  const fields = encodeFields(requestFields(request));
  return Buffer.concat([u32(fields.length), fields]);
}

function requestFields(request: LaunchRequest): Field[] {
  const fields: Field[] = [
    [RequestField.program, request.bubblewrap],
    [RequestField.command, request.command],
    [RequestField.seccomp, request.seccomp],
    // Several arguments may come as one: the launcher only passes them on, each ended by a NUL.
    [RequestField.argument, request.arguments.join("\0")],
    ...request.cgroupFiles.map((file): Field => [RequestField.cgroup, file]),
    ...resourceLimits(request.limits),
    // When the host runs out of memory, sandboxes go first; inside one, its commands.
    [RequestField.oomScore, "500"],
  ];
  if (request.identity !== undefined) {
    fields.push([RequestField.identity, u32(request.identity.uid, request.identity.gid)]);
  }
  if (request.cellFilter !== undefined) fields.push([RequestField.cells, request.cellFilter]);
  if (request.covers !== undefined) {
    fields.push(...request.covers.paths.map((path): Field => [RequestField.cover, path]), [
      RequestField.nothing,
      request.covers.empty,
    ]);
  }
  if (request.mount !== undefined) fields.push([RequestField.mountPoint, request.mountPoint]);
  if (request.mount?.kind === "image") {
    fields.push(
      [RequestField.image, request.mount.path],
      [RequestField.holder, `${request.mount.path}.holder`],
    );
  } else if (request.mount?.kind === "memory") {
    fields.push([RequestField.memory, `size=${request.mount.bytes},nr_inodes=${request.mount.inodes}`]);
  }
  return fields;
}

function resourceLimits(limits: Limits): Field[] {
  const fields = [resourceLimit(Resource.core, 0), resourceLimit(Resource.messageQueues, 819_200)];
  if (limits.pids !== undefined) fields.push(resourceLimit(Resource.processes, limits.pids));
  if (limits.openFiles !== undefined) fields.push(resourceLimit(Resource.openFiles, limits.openFiles));
  if (limits.fileSizeMb !== undefined)
    fields.push(resourceLimit(Resource.fileSize, limits.fileSizeMb * 1024 * 1024));
  return fields;
}

function resourceLimit(resource: number, value: number): Field {
  const bytes = Buffer.alloc(12);
  bytes.writeUInt32LE(resource, 0);
  bytes.writeBigUInt64LE(BigInt(Math.round(value)), 4);
  return [RequestField.limit, bytes];
}
