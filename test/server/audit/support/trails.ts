/** In-memory trails, and the verifier over text. */

import { type Chain, createChain } from "../../../../src/server/audit/chain.ts";
import {
  type AuditEvent,
  type TrailReport,
  type VerifyOptions,
  verifyTrail,
} from "../../../../src/server/audit/index.ts";
import { type ChainKey, generateKey } from "../../../../src/server/audit/key-file.ts";

export const AT = Date.UTC(2026, 10, 20, 12, 0, 0, 123);

export interface MadeTrail {
  readonly key: ChainKey;
  readonly chain: Chain;
  /** Lines without newlines. */
  readonly lines: string[];
  add(event?: AuditEvent): void;
}

export function makeTrail(
  options: {
    readonly node?: string;
    readonly records?: number;
    readonly succeeds?: object;
    readonly key?: ChainKey;
  } = {},
): MadeTrail {
  const { node = "n1", records = 5, succeeds, key = generateKey() } = options;
  const chain = createChain(node, key, undefined);
  const start = { key: key.raw.toString("base64"), ephemeral: false, succeeds: succeeds ? { ...succeeds } : null };
  const lines = [chain.appendEvent({ event: "chain.start", data: start }, AT).line];
  const add = (
    event: AuditEvent = { event: "access.decision", controls: ["AC-3"], data: { n: lines.length } },
  ): void => {
    lines.push(chain.appendEvent(event, AT + lines.length).line);
  };
  while (lines.length < records) add();
  return { key, chain, lines, add };
}

export const textOf = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");

async function* chunksOf(chunks: readonly (string | Uint8Array)[]): AsyncGenerator<string | Uint8Array> {
  yield* chunks;
}

export function verifyChunks(
  chunks: readonly (string | Uint8Array)[],
  options: VerifyOptions = {},
): Promise<TrailReport> {
  return verifyTrail([{ name: "trail", chunks: chunksOf(chunks) }], { threads: 0, ...options });
}

export const verifyLines = (lines: readonly string[], options: VerifyOptions = {}): Promise<TrailReport> =>
  verifyChunks([textOf(lines)], options);

/** Returns `kind seq` in order; `-` for a finding without one. */
export const found = ({ findings }: TrailReport): readonly string[] =>
  findings.map(({ kind, seq }) => `${kind} ${seq ?? "-"}`);
