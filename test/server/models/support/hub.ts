/**
 * A model hub and its content host, two origins on this machine, in the formats that the hub's own clients send and
 * expect. `fault` sees every request first, and answers it if it returns true.
 */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

interface Seen {
  readonly host: "hub" | "content";
  readonly path: string;
  readonly authorization: string | undefined;
  readonly range: string | undefined;
  readonly encoding: string | undefined;
}

type Fault = (seen: Seen, answer: ServerResponse, request: IncomingMessage) => boolean;

interface Repository {
  /** Files by commit, then by path. */
  readonly commits: Map<string, ReadonlyMap<string, Buffer>>;
  readonly branches: Map<string, string>;
  gated: boolean;
}

export interface Hub {
  readonly endpoint: string;
  readonly content: string;
  readonly token: string;
  readonly repositories: Map<string, Repository>;
  readonly seen: Seen[];
  fault: Fault;
  /** Members that replace those of a repository's answer. */
  replacements: Readonly<Record<string, unknown>>;
  /** The single-call listing has no digests. */
  isPlainMirror: boolean;
  /** Adds `files` as a commit, which becomes the tip of `main`; returns the commit. */
  commit(repo: string, files: Readonly<Record<string, Buffer>>): string;
  close(): Promise<void>;
}

export const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

const gitBlob = (bytes: Uint8Array): string =>
  createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");

const isLarge = (path: string): boolean => /\.onnx(_data\w*)?$/.test(path);

export async function openHub(): Promise<Hub> {
  const repositories = new Map<string, Repository>();
  const seen: Seen[] = [];
  const bySha = new Map<string, Buffer>();

  const answerAs =
    (
      host: Seen["host"],
      route: (path: string, query: URLSearchParams, request: IncomingMessage, answer: ServerResponse) => unknown,
    ) =>
    (request: IncomingMessage, answer: ServerResponse): void => {
      const { authorization, range, "accept-encoding": encoding } = request.headers;
      const path = request.url ?? "/";
      const one: Seen = {
        host,
        path,
        authorization,
        range,
        encoding: encoding === undefined ? undefined : String(encoding),
      };
      seen.push(one);
      if (hub.fault(one, answer, request)) return;
      const url = new URL(path, "http://host");
      route(decodeURIComponent(url.pathname), url.searchParams, request, answer);
    };

  const servers = [
    createServer(answerAs("hub", (path, query, request, answer) => routeHub(path, query, request, answer))),
    createServer(
      answerAs("content", (path, _query, request, answer) => {
        const bytes = bySha.get(path.slice(1));
        if (bytes === undefined) fail(answer, 404);
        else send(request, answer, bytes, { etag: `"${path.slice(1)}"` });
      }),
    ),
  ] as const;
  const [endpoint, content] = await Promise.all(servers.map(listening));
  if (endpoint === undefined || content === undefined) throw new Error("no servers");

  const hub: Hub = {
    endpoint,
    content,
    token: "hf_abcdefghijklmnopqrstuvwxyz0123456789",
    repositories,
    seen,
    fault: () => false,
    replacements: {},
    isPlainMirror: false,
    commit(repo, files) {
      const known = repositories.get(repo) ?? { commits: new Map(), branches: new Map(), gated: false };
      repositories.set(repo, known);
      const commit = createHash("sha1").update(`${repo} ${known.commits.size}`).digest("hex");
      known.commits.set(commit, new Map(Object.entries(files)));
      known.branches.set("main", commit);
      for (const bytes of Object.values(files)) bySha.set(sha256(bytes), bytes);
      return commit;
    },
    async close() {
      await Promise.all(
        servers.map((server) => {
          server.closeAllConnections();
          return new Promise((closed) => server.close(closed));
        }),
      );
    },
  };

  const routeHub = (path: string, query: URLSearchParams, request: IncomingMessage, answer: ServerResponse): true => {
    const match = /^\/(?:api\/models\/)?([^/]+\/[^/]+)\/(revision|tree|resolve)\/([^/]+)(?:\/(.*))?$/.exec(path);
    const repository = repositories.get(match?.[1] ?? "");
    if (match === null || repository === undefined)
      return fail(answer, path.startsWith("/api") ? 401 : 404, "RepoNotFound");
    const [, repo = "", kind, revision = "", inner = ""] = match;
    const commit = repository.commits.has(revision) ? revision : repository.branches.get(revision);
    const files = repository.commits.get(commit ?? "");
    if (commit === undefined || files === undefined)
      return fail(answer, 404, "RevisionNotFound", `Invalid rev id: ${revision}`);
    if (kind === "revision") return list(answer, { repo, commit, files, gated: repository.gated, query });
    if (kind === "tree") return tree(answer, { repo, commit, files, query });
    if (repository.gated && request.headers.authorization !== `Bearer ${hub.token}`) {
      const withOther = request.headers.authorization !== undefined;
      const text = `Access to model ${repo} is restricted`;
      return fail(answer, withOther ? 403 : 401, "GatedRepo", text);
    }
    const bytes = files.get(inner);
    if (bytes === undefined) return fail(answer, 404, "EntryNotFound");
    answer.setHeader("x-repo-commit", commit);
    if (!isLarge(inner)) return send(request, answer, bytes, { etag: `"${gitBlob(bytes)}"` });
    return raw(answer, 302, {
      location: `${content}/${sha256(bytes)}?X-Amz-Signature=5167`,
      "x-linked-etag": `"${sha256(bytes)}"`,
      "x-linked-size": String(bytes.length),
    });
  };

  interface Listed {
    readonly repo: string;
    readonly commit: string;
    readonly files: ReadonlyMap<string, Buffer>;
    readonly query: URLSearchParams;
  }

  const list = (
    answer: ServerResponse,
    { repo, commit, files, gated, query }: Listed & { readonly gated: boolean },
  ): true => {
    const siblings = [...files].map(([rfilename, bytes]) =>
      query.get("blobs") !== "true" || hub.isPlainMirror
        ? { rfilename }
        : isLarge(rfilename)
          ? {
              rfilename,
              size: bytes.length,
              blobId: gitBlob(Buffer.from(`pointer to ${sha256(bytes)}`)),
              lfs: { sha256: sha256(bytes), size: bytes.length, pointerSize: 134 },
            }
          : { rfilename, size: bytes.length, blobId: gitBlob(bytes) },
    );
    const repository = {
      id: repo,
      sha: commit,
      private: false,
      gated: gated ? "auto" : false,
      siblings,
      ...hub.replacements,
    };
    return raw(
      answer,
      200,
      { "content-type": "application/json" },
      JSON.stringify({ lastModified: "2026-10-01T12:00:00.000Z", cardData: { license: "apache-2.0" }, ...repository }),
    );
  };

  /** Two entries per page; the next address is that of the original hub. */
  const tree = (answer: ServerResponse, { repo, commit, files, query }: Listed): true => {
    const from = Number(query.get("cursor") ?? 0);
    const all = [...files];
    const entries = all.slice(from, from + 2).map(([path, bytes]) => ({
      type: "file",
      path,
      size: bytes.length,
      oid: gitBlob(bytes),
      ...(isLarge(path) && { lfs: { oid: sha256(bytes), size: bytes.length } }),
      xetHash: "0".repeat(64),
    }));
    if (from + 2 < all.length) {
      const next = `https://original.example/api/models/${repo}/tree/${commit}?recursive=true&expand=false&cursor=${from + 2}`;
      answer.setHeader("link", `<${next}>; rel="next"`);
    }
    return raw(
      answer,
      200,
      {},
      JSON.stringify([{ type: "directory", path: "onnx", oid: "0".repeat(40), size: 0 }, ...entries]),
    );
  };

  return hub;
}

export function fail(answer: ServerResponse, status: number, code?: string, text = "refused"): true {
  answer.writeHead(status, { "content-type": "application/json", ...(code !== undefined && { "x-error-code": code }) });
  answer.end(JSON.stringify({ error: text }));
  return true;
}

export function raw(
  answer: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string | number>> = {},
  body: string | Uint8Array = "",
): true {
  answer.writeHead(status, headers);
  answer.end(body);
  return true;
}

/** Sends everything, or from the requested byte. */
export function send(
  request: IncomingMessage,
  answer: ServerResponse,
  bytes: Buffer,
  headers: Readonly<Record<string, string>> = {},
): true {
  const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0);
  if (from >= bytes.length && from > 0) return fail(answer, 416);
  const isPartial = request.headers.range !== undefined;
  answer.writeHead(isPartial ? 206 : 200, {
    ...headers,
    "accept-ranges": "bytes",
    "content-length": String(bytes.length - from),
    ...(isPartial && { "content-range": `bytes ${from}-${bytes.length - 1}/${bytes.length}` }),
  });
  answer.end(bytes.subarray(from));
  return true;
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
