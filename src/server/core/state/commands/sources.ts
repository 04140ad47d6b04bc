/**
 * Configuration sources. The state machine stores their text without parsing it: every node compiles it.
 *
 * A source has one writer. A file is applied by the transition table of spec document 1 (`decideApply`), and only to the source
 * `default`, which is then the only source. Sources of the admin API are compared by revision.
 */

import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { type ApplyDecision, decideApply, type Edition, versionBound } from "../../config/index.ts";
import { define, type Site } from "../command.ts";
import { type CommandRefusal, ok, type Refused, refused } from "../command-refusals.ts";
import { choice, identifier, integer, nullable, object, optional, prose, sha256Hex } from "../fields.ts";
import { MAX_COMMAND_BYTES } from "../proposal.ts";
import { MAX_VALUE_BYTES } from "../state-file.ts";
import { runSteps } from "../steps.ts";
import type { CommandResult } from "../types.ts";
import { blobPieces, blobReference, checkBlob, dropBlob } from "./blobs.ts";
import { featureRowKey, levelOf, VERSION_GUARD_LEVEL } from "./feature.ts";
import {
  deployModeKey,
  deployModeRows,
  documentVersion,
  FILE_SOURCE,
  highestVersion,
  KEPT_REVISIONS,
  type RevisionRow,
  revisionOfKey,
  revisionRowKey,
  revisionRows,
  revisionsOf,
  type SourceRow,
  sourceRowKey,
  sourceRows,
  writer,
} from "./source-rows.ts";

const put = object({
  name: identifier,
  /** Exactly one of `text` and `blob` is set. */
  text: optional(prose(MAX_COMMAND_BYTES)),
  blob: optional(blobReference),
  /** Digest of the text in UTF-8. */
  sha256: sha256Hex,
  version: nullable(documentVersion),
  writer,
  /** Revision that the caller has seen; 0 if none, null to accept any. */
  expect_revision: nullable(integer()),
  trigger: choice(["seed", "start", "reload", "api"]),
});
type Put = ReturnType<typeof put>;

const current = (site: Site, name: string): SourceRow | undefined => {
  const value = site.draft.get(sourceRowKey(name));
  return value === undefined ? undefined : sourceRows.read(value);
};

export const sourcePut = define("source.put", put, (params, site) => {
  if ((params.text === undefined) === (params.blob === undefined)) return refused("invalid");
  if ((params.writer === "api") !== (params.trigger === "api")) return refused("invalid");
  if (params.writer === "file" && params.name !== FILE_SOURCE) return refused("invalid");
  const stored = current(site, params.name);
  const obstacle = writerObstacle(site, params.writer) ?? revisionObstacle(stored, params.expect_revision);
  if (obstacle !== undefined) return refused(obstacle);

  const isSame = stored !== undefined && stored.sha256 === params.sha256 && stored.version === params.version;
  const decision = params.writer === "file" ? decideFile(site, params, stored) : isSame ? "keep" : "apply";
  if (decision !== "apply") {
    if (decision !== "keep") return refused(decision);
    if (params.blob !== undefined) dropBlob(site.draft, params.blob.sha256);
    return ok({ revision: stored?.revision ?? 0, applied: false });
  }

  const text = contentOf(params, site);
  if (text.kind === "refused") return text;
  if (params.writer === "file") site.draft.put(deployModeKey, deployModeRows.write({ mode: "file" }));
  const { name, version, sha256 } = params;
  const highest = params.writer === "file" && version === null ? bound(site, stored) : undefined;
  const next = { name, writer: params.writer, version, sha256, kind: "put", text: text.value } as const;
  return store(site, next, highest);
});

/** Returns the version below which no document is applied. It does not read earlier revisions, since these may be long. */
const bound = (site: Site, stored: SourceRow | undefined): number | undefined =>
  remembersVersions(site) ? (stored?.version ?? stored?.highest) : undefined;

const remembersVersions = ({ draft }: Site): boolean => levelOf(draft.get(featureRowKey)) >= VERSION_GUARD_LEVEL;

/**
 * Decides by the transition table and returns a result code. Both start triggers count as a start: a seed is a start that finds
 * nothing stored.
 */
function decideFile(site: Site, params: Put, stored: SourceRow | undefined): "apply" | "keep" | CommandRefusal {
  const before = stored && storedEdition(site, stored, params.version !== null);
  const { kind }: ApplyDecision = decideApply({
    trigger: params.trigger === "reload" ? "reload" : "start",
    stored: before,
    document: edition(params),
  });
  switch (kind) {
    case "apply":
    case "keep":
      return kind;
    case "wait":
      return "waits";
    case "refuse":
      return before && versionBound(before) === params.version ? "version_reused" : "version_behind";
    default:
      return kind satisfies never;
  }
}

const edition = ({ version, sha256 }: { readonly version: number | null; readonly sha256: string }): Edition =>
  version === null ? { digest: sha256 } : { version, digest: sha256 };

function storedEdition(site: Site, stored: SourceRow, isCompared: boolean): Edition {
  const highest = isCompared && remembersVersions(site) ? highestVersion(site.draft, stored) : undefined;
  return { ...edition(stored), ...(stored.version === null && highest !== undefined && { highest }) };
}

function writerObstacle({ draft }: Site, by: "file" | "api"): CommandRefusal | undefined {
  if (by === "api") return draft.get(deployModeKey) === undefined ? undefined : "file_owned";
  for (const [, value] of draft.scan("source/")) if (sourceRows.read(value).writer === "api") return "api_owned";
  return undefined;
}

function revisionObstacle(stored: SourceRow | undefined, expected: number | null): CommandRefusal | undefined {
  return expected === null || expected === (stored?.revision ?? 0) ? undefined : "stale";
}

type Content = { readonly kind: "text"; readonly value: string } | Refused;

function contentOf({ text, blob, sha256 }: Put, { draft }: Site): Content {
  if (blob === undefined) {
    const value = text ?? "";
    return hash("sha256", value, "hex") === sha256 ? { kind: "text", value } : refused("digest_mismatch");
  }
  if (blob.sha256 !== sha256) return refused("digest_mismatch");
  const fault = runSteps(checkBlob(draft, blob));
  if (fault !== undefined) return refused(fault);
  try {
    const bytes = Buffer.concat([...blobPieces(draft, blob)]);
    const value = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    dropBlob(draft, blob.sha256);
    return { kind: "text", value };
  } catch {
    return refused("invalid");
  }
}

type NewRevision = Pick<RevisionRow, "name" | "writer" | "version" | "sha256" | "kind" | "text">;

/** Stores the next revision as the current one, and drops those that are too old to be kept. */
function store({ draft, now, by }: Site, next: NewRevision, highest?: number): CommandResult {
  const kept = Array.from(draft.scan(revisionsOf(next.name)), ([key]) => key);
  const last = kept.at(-1);
  const revision = last === undefined ? 1 : revisionOfKey(last) + 1;
  const { name, writer: of, version, sha256, kind, text } = next;
  const facts = { name, revision, writer: of, version, sha256, bytes: Buffer.byteLength(text ?? ""), at: now, by };
  const value = revisionRows.write({ ...facts, kind, text });
  if (Buffer.byteLength(value) > MAX_VALUE_BYTES) return refused("too_large");
  draft.put(revisionRowKey(name, revision), value);
  if (text === null) draft.delete(sourceRowKey(name));
  else draft.put(sourceRowKey(name), sourceRows.write({ ...facts, ...(highest !== undefined && { highest }) }));
  for (const key of kept.slice(0, Math.max(0, kept.length + 1 - KEPT_REVISIONS))) draft.delete(key);
  return ok({ revision, applied: true });
}

/**
 * Deletes a source. With writer `file`, the deployment is no longer configured by a file, and the admin API may write sources
 * from then on.
 */
export const sourceDelete = define(
  "source.delete",
  object({ name: identifier, writer, expect_revision: nullable(integer()) }),
  (params, site) => {
    const stored = current(site, params.name);
    if (stored === undefined) return refused("not_found");
    const isFile = site.draft.get(deployModeKey) !== undefined;
    if (isFile !== (params.writer === "file")) return refused(isFile ? "file_owned" : "api_owned");
    const obstacle = revisionObstacle(stored, params.expect_revision);
    if (obstacle !== undefined) return refused(obstacle);
    site.draft.delete(deployModeKey);
    const { name, version, sha256 } = stored;
    return store(site, { name, writer: params.writer, version, sha256, kind: "delete", text: null });
  },
);

/** Makes the text of an earlier revision the current one again, as a new revision. This also restores a deleted source. */
export const sourceRollback = define(
  "source.rollback",
  object({ name: identifier, to: integer(1, 9_999_999_999), expect_revision: nullable(integer()) }),
  (params, site) => {
    const obstacle =
      writerObstacle(site, "api") ?? revisionObstacle(current(site, params.name), params.expect_revision);
    if (obstacle !== undefined) return refused(obstacle);
    const value = site.draft.get(revisionRowKey(params.name, params.to));
    if (value === undefined) return refused("not_found");
    const { name, version, sha256, text } = revisionRows.read(value);
    if (text === null) return refused("not_found");
    return store(site, { name, writer: "api", version, sha256, kind: "rollback", text });
  },
);
