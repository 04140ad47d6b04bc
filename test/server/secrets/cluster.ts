/** A replicated state with sealed secrets, driven by the real state machine, and nodes with their own keys. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  CERTIFICATES_LEVEL,
  commands,
  createState,
  encodeCommand,
  encodeProposal,
} from "../../../src/server/core/state/index.ts";
import { deriveKeks, type Kek, type Sealing, type SecretPlan } from "../../../src/server/secrets/index.ts";

export const NOW = 1_760_000_000_000;
export const DAY = 86_400_000;

/** Returns the key derived from a cluster secret. */
export const kekOf = (secret: string): Kek => {
  const key = createHash("sha256").update(secret).digest();
  return { id: `s:${createHash("sha256").update(key).digest("hex").slice(0, 8)}`, key };
};

export const KEK_FILE = new Uint8Array(32).fill(7);

interface NodeOptions {
  readonly secret?: string;
  readonly previous?: string;
  readonly file?: Uint8Array;
  readonly clusters?: readonly [string, ...string[]];
}

export function openState() {
  const state = createState();
  let index = 0;

  /** Returns the results in order up to the first refusal, like a proposer. */
  function run(plan: SecretPlan): readonly string[] {
    assert.ok(plan.kind === "planned", JSON.stringify(plan));
    const results: string[] = [];
    for (const { t, p } of plan.commands) {
      index += 1;
      const by = { iss: "local", sub: "unix:0" };
      const command = encodeCommand({ v: 1, t, id: `i${index}`, c: "c", s: index, by, p });
      const { result } = state.apply({ index, term: 1, data: encodeProposal(NOW, command) });
      assert.ok(result);
      results.push(result.kind === "ok" ? t : `${t}: ${result.code}`);
      if (result.kind === "refused") break;
    }
    return results;
  }

  function node({ secret = "one", previous, file, clusters = ["c1"] }: NodeOptions = {}): Sealing {
    const keks = deriveKeks({
      secret: kekOf(secret),
      previous: previous === undefined ? undefined : kekOf(previous),
      file,
    });
    return { view: state, keks, clusters };
  }

  run({ kind: "planned", commands: [commands.featSet({ level: CERTIFICATES_LEVEL })] });
  return { state, run, node };
}

/** Returns the rows with some of them replaced. */
export function withRows(sealing: Sealing, changed: Readonly<Record<string, object>>): Sealing {
  const get = (key: string): string | undefined =>
    changed[key] === undefined ? sealing.view.get(key) : `1${JSON.stringify(changed[key])}`;
  return {
    ...sealing,
    view: {
      get,
      *scan(prefix) {
        const keys = new Set([...Array.from(sealing.view.scan(prefix), ([key]) => key), ...Object.keys(changed)]);
        for (const key of [...keys].filter((it) => it.startsWith(prefix)).sort()) yield [key, get(key) as string];
      },
    },
  };
}
