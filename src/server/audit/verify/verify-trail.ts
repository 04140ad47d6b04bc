/**
 * Verifies an exported trail: every record has the hash that it states, links to the previous one and is signed by its
 * chain's key; no number is missing; the witnessed heads are in the input. Source: specification document 1, "audit
 * verify"; cluster reference, section 9.
 *
 * The input is read once, in order, and may have any size. Memory is limited in each place that uses it: fingerprints
 * (`fingerprints.ts`), gaps (`assemble-chain.ts`), chains, and signatures that wait for their key.
 */

import { availableParallelism } from "node:os";
import { createChainAssembler } from "./assemble-chain.ts";
import { type AssembledChain, createRecordOrder, type UncheckedSignature, updateOrder } from "./assembled-chain.ts";
import { checkCompleteness } from "./check-completeness.ts";
import { createControlCounts } from "./control-counts.ts";
import { type ExaminedLine, type ExaminedRecord, keyInStartRecord } from "./examine-block.ts";
import { createExaminerPool } from "./examiner-pool.ts";
import { chainKey, createFindings } from "./findings.ts";
import { createFingerprints } from "./fingerprints.ts";
import { type Block, blocksOf } from "./input-blocks.ts";
import type { ChainReport, Finding, Place, TrailInput, TrailReport, VerifyOptions } from "./types.ts";

const MAX_THREADS = 8;
const MAX_CHAINS = 10_000;
/** Maximum number of records that wait for the chain's start record, as if files are given newest first. */
const MAX_UNCHECKED = 200_000;
const CHECK_BATCH = 1_000;

export async function verifyTrail(inputs: Iterable<TrailInput>, options: VerifyOptions = {}): Promise<TrailReport> {
  const { keys = new Map(), heads = [], threads = Math.min(availableParallelism(), MAX_THREADS), signal } = options;
  const pool = createExaminerPool(threads);
  const findings = createFindings();
  const fingerprints = createFingerprints();
  const chains = new Map<string, AssembledChain>();
  const watched = new Map<string, number[]>();
  for (const { node, kid, seq } of heads) {
    const key = chainKey(node, kid);
    watched.set(key, [...(watched.get(key) ?? []), seq]);
  }
  const controls = createControlCounts();
  let records = 0;
  let bytes = 0;
  let cutShort = 0;
  let uncheckedCount = 0;
  for (const [kid, raw] of keys) pool.addKey(kid, raw);

  function chainOf({ node, kid }: ExaminedRecord, firstPlace: Place): AssembledChain | undefined {
    const key = chainKey(node, kid);
    const known = chains.get(key);
    if (known !== undefined || chains.size >= MAX_CHAINS) return known;
    const assembler = createChainAssembler(fingerprints.chain(), watched.get(key) ?? []);
    const chain = {
      node,
      kid,
      assembler,
      order: createRecordOrder(),
      hasKey: keys.has(kid),
      unchecked: [],
      firstPlace,
    };
    chains.set(key, chain);
    return chain;
  }

  async function processLines(lines: readonly ExaminedLine[], file: string): Promise<void> {
    for (const line of lines) {
      const place = { file, line: line.line };
      if (line.kind === "cut") cutShort += 1;
      else if (line.kind === "record") await processRecord(line, place);
      else findings.add({ ...line, kind: "form", place });
    }
  }

  async function processRecord(record: ExaminedRecord, place: Place): Promise<void> {
    const { node, kid, seq } = record;
    const addFinding = (kind: Finding["kind"], message: string): void =>
      findings.add({ kind, node, kid, seq, place, message });
    records += 1;
    const chain = chainOf(record, place);
    if (chain === undefined) {
      addFinding("bound", `the input has more than ${MAX_CHAINS} chains`);
      return;
    }
    if (!record.hasValidHash) addFinding("altered", "its content does not match its hash");
    const { copies } = chain.assembler;
    for (const { kind, seq: of, message } of chain.assembler.add(record)) {
      findings.add({ kind, node, kid, seq: of, place, message });
    }
    if (chain.assembler.copies === copies) {
      updateOrder(chain.order, seq, place);
      if (record.hasValidHash && record.signature !== "bad") controls.add(record.controls);
    }
    if (record.start !== undefined) {
      const raw = keyInStartRecord(record);
      if (raw === undefined) addFinding("start", "the key that the start record names is not the chain's");
      else if (!chain.hasKey) {
        chain.hasKey = true;
        pool.addKey(kid, raw);
      }
    }
    if (record.signature === "bad") addFinding("signature", "it is not signed by the chain's key");
    if (record.signature === "unknown") await postpone(chain, { ...record, place });
  }

  /** Keeps the signature until the chain's key is known. */
  async function postpone(
    chain: AssembledChain,
    { kid, hash, sig, proof, seq, place }: UncheckedSignature,
  ): Promise<void> {
    if (uncheckedCount >= MAX_UNCHECKED && !chain.hasKey) {
      const message = `more than ${MAX_UNCHECKED} records wait for a key: give it with -key, or the file with the start record first`;
      findings.add({ kind: "bound", node: chain.node, kid, seq, place, message });
      return;
    }
    uncheckedCount += 1;
    chain.unchecked.push({ kid, hash, sig, proof, seq, place });
    if (chain.hasKey && chain.unchecked.length >= CHECK_BATCH) await checkPostponed(chain);
  }

  async function checkPostponed(chain: AssembledChain): Promise<void> {
    while (chain.unchecked.length > 0) {
      const batch = chain.unchecked.splice(-CHECK_BATCH);
      uncheckedCount -= batch.length;
      const results = await pool.check(batch);
      for (const [index, { seq, place }] of batch.entries()) {
        if (results[index] === "good") continue;
        const { node, kid } = chain;
        findings.add({ kind: "signature", node, kid, seq, place, message: "it is not signed by the chain's key" });
      }
    }
  }

  try {
    const inFlight: { readonly block: Block; readonly lines: Promise<readonly ExaminedLine[]> }[] = [];
    const processNext = async (): Promise<void> => {
      const next = inFlight.shift();
      if (next !== undefined) await processLines(await next.lines, next.block.file);
      options.onProgress?.({ records, bytes });
    };
    for (const input of inputs) {
      for await (const block of blocksOf(input)) {
        signal?.throwIfAborted();
        bytes += block.bytes.length;
        const lines = pool.examine(block);
        lines.catch(() => undefined);
        inFlight.push({ block, lines });
        if (inFlight.length >= pool.width) await processNext();
      }
    }
    while (inFlight.length > 0) await processNext();
    for (const chain of chains.values()) {
      if (chain.hasKey) await checkPostponed(chain);
    }
  } finally {
    await pool.close();
  }

  checkCompleteness([...chains.values()], heads, (finding) => findings.add(finding));
  if (records === 0)
    findings.add({
      kind: "empty",
      message: "the input contains no audit records; each is a JSON object on a line of its own",
    });
  return {
    chains: [...chains.values()].map((chain) => chainReport(chain, findings.isClean(chain.node, chain.kid))),
    findings: findings.listed,
    unlisted: findings.unlisted,
    records,
    cutShort,
    controls: controls.counts,
    uncounted: controls.uncounted(),
  };
}

function chainReport({ node, kid, assembler, order }: AssembledChain, isVerified: boolean): ChainReport {
  const { first, last, records, copies, start } = assembler;
  const { misplaced, firstMisplaced } = order;
  const ephemeral = start?.ephemeral;
  return { node, kid, first, last, records, copies, misplaced, firstMisplaced, ephemeral, isVerified };
}
