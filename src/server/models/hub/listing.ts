/**
 * Lists a repository at one commit, with digest and size of each file: in one call, or page by page if a mirror omits
 * the digests. Source: the official hub clients, `GET /api/models/{repo}/revision/{rev}?blobs=true` and
 * `/tree/{commit}`.
 */

import { readRefusal } from "../fetch/download-refusal.ts";
import { type RetryTiming, withRetries } from "../fetch/fetch-attempts.ts";
import { originAndPath, type Transport, toUnreachableError } from "../fetch/hub-transport.ts";
import { ModelError } from "../model-error.ts";

const MAX_ANSWER_BYTES = 10 << 20;
const MAX_ENTRIES = 20_000;
const MAX_PAGES = 100;

interface HubConnection {
  readonly transport: Transport;
  readonly waiting: RetryTiming;
  /** Address of the hub without a trailing slash; may have a path. */
  readonly endpoint: string;
  readonly token: string | undefined;
}

/** Listed file. Only `path` was validated; it is a string. */
export interface ListedFile {
  readonly path: string;
  readonly size: unknown;
  /** Git id of the content, or of the pointer file if `sha256` is present. */
  readonly blob: unknown;
  /** Digest of the content, for files stored outside of git. */
  readonly sha256: unknown;
}

export interface Listing {
  /** Commit, as 40 hexadecimal digits. */
  readonly commit: string;
  readonly files: readonly ListedFile[];
  readonly isGated: boolean;
  readonly isPrivate: boolean;
  /** License, as stated on the repository's page. */
  readonly license: string | undefined;
  /** Time of the last change in RFC 3339, as the hub reports it. */
  readonly modifiedAt: string | undefined;
}

type PartlyListedFile = { readonly [Key in keyof ListedFile]: ListedFile[Key] | undefined };

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Lists the files of a revision (branch, tag or commit). Rejects with `ModelError`. */
export async function listRepository(
  hub: HubConnection,
  repo: string,
  revision: string,
  signal: AbortSignal,
): Promise<Listing> {
  const base = `${hub.endpoint}/api/models/${repo}`;
  const { value } = await getJson(hub, new URL(`${base}/revision/${encodeURIComponent(revision)}?blobs=true`), signal);
  const commit = isObject(value) ? value["sha"] : undefined;
  if (!isObject(value) || typeof commit !== "string" || !/^[0-9a-f]{40}$/.test(commit)) {
    throw new ModelError("refused", `${base}: the answer names no commit: is ${hub.endpoint} a model hub?`);
  }
  if (value["disabled"] === true) throw new ModelError("denied", `${base}: the repository is disabled`);
  const siblings = listOf(value["siblings"]).map(
    (entry): PartlyListedFile => ({
      path: textOf(entry["rfilename"]),
      size: entry["size"],
      blob: entry["blobId"],
      sha256: isObject(entry["lfs"]) ? entry["lfs"]["sha256"] : undefined,
    }),
  );
  const hasDigests = siblings.some(({ blob }) => blob !== undefined);
  const files = hasDigests
    ? siblings
    : await readTree(hub, `${base}/tree/${commit}?recursive=true&expand=false`, signal);
  const card = value["cardData"];
  return {
    commit,
    files: validateFiles(files, base),
    isGated: value["gated"] !== undefined && value["gated"] !== false,
    isPrivate: value["private"] === true,
    license: isObject(card) ? textOf(card["license"]) : undefined,
    modifiedAt: textOf(value["lastModified"]),
  };
}

async function readTree(hub: HubConnection, first: string, signal: AbortSignal): Promise<readonly PartlyListedFile[]> {
  const found: PartlyListedFile[] = [];
  let next: URL | undefined = new URL(first);
  for (let pages = 0; next !== undefined; pages += 1) {
    if (pages >= MAX_PAGES) throw new ModelError("refused", `${originAndPath(next)}: more than ${MAX_PAGES} pages`);
    const page: { readonly value: unknown; readonly link: string } = await getJson(hub, next, signal);
    for (const entry of listOf(page.value)) {
      if (entry["type"] !== "file") continue;
      const { oid, lfs } = entry;
      const sha256 = isObject(lfs) ? lfs["oid"] : undefined;
      found.push({ path: textOf(entry["path"]), size: entry["size"], blob: oid, sha256 });
    }
    next = nextPageUrl(page.link, next);
  }
  return found;
}

/**
 * Returns the address of the next page. Uses only the path of the link: a mirror may leave the original's host in it,
 * and the token must go only to the mirror.
 */
function nextPageUrl(link: string, from: URL): URL | undefined {
  const target = /<([^>]+)>\s*;\s*rel="next"/.exec(link)?.[1];
  if (target === undefined || !URL.canParse(target, from.href)) return undefined;
  const { pathname, search } = new URL(target, from);
  const prefix = from.pathname.slice(0, from.pathname.indexOf("/api/models/"));
  return new URL(`${from.origin}${pathname.startsWith(`${prefix}/`) ? "" : prefix}${pathname}${search}`);
}

function validateFiles(files: readonly PartlyListedFile[], where: string): readonly ListedFile[] {
  if (files.length > MAX_ENTRIES) {
    throw new ModelError("refused", `${where}: lists ${files.length} files, and at most ${MAX_ENTRIES} are read`);
  }
  const named = files.flatMap(({ path, size, blob, sha256 }) =>
    path === undefined ? [] : { path, size, blob, sha256 },
  );
  if (new Set(named.map(({ path }) => path)).size < named.length) {
    throw new ModelError("refused", `${where}: lists a file twice`);
  }
  return named;
}

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isObject) : []);

function getJson(
  { transport, waiting, token }: HubConnection,
  url: URL,
  signal: AbortSignal,
): Promise<{ readonly value: unknown; readonly link: string }> {
  return withRetries(
    async () => {
      const answer = await transport.send({ url, token, signal });
      if (answer.status !== 200) throw await readRefusal(answer, token);
      const text = await readText(answer.body, url, signal);
      try {
        return { value: JSON.parse(text), link: answer.headers["link"] ?? "" };
      } catch {
        throw new ModelError("refused", `${originAndPath(url)}: the answer is not JSON: is it a model hub?`);
      }
    },
    waiting,
    signal,
  );
}

async function readText(body: AsyncIterable<Buffer>, url: URL, signal: AbortSignal): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of body) {
      length += chunk.length;
      if (length > MAX_ANSWER_BYTES) {
        throw new ModelError("refused", `${originAndPath(url)}: the answer is longer than ${MAX_ANSWER_BYTES} bytes`);
      }
      chunks.push(chunk);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof ModelError ? error : toUnreachableError(url, error);
  }
  return Buffer.concat(chunks).toString("utf8");
}
