/** Packs and documents for tests. */

import assert from "node:assert/strict";
import { type Pack, type PackFiles, readPack } from "../../../../src/server/core/packs/index.ts";

export const BASE_PACK =
  "id: base\nversion: 1.0.0\ntitle: Base\ncontrols:\n  - { id: 'f-1:A', title: A, citation: F 1 A }\n";

export const BASE_FRAGMENT = `guardrails:
  detectors:
    - type: pii # of the pack
      name: numbers
      entities: [CREDIT_CARD]
  rules:
    - name: no-cards
      requires: [numbers]
      action: deny
      controls: ["f-1:A"]
access_rules:
  - { name: no-shell, at: [mcp], condition: 'name == "shell"', action: deny }
`;

const UPPER_PACK = `id: upper
version: 1.0.0
title: Upper
builds_on: [base]
controls:
  - { id: 'g-2:B', title: B, citation: G 2 B }
  - { id: 'g-2:C', title: C, citation: G 2 C }
attaches:
  - { pack: base, rule: no-cards, controls: ['g-2:B', 'g-2:C'] }
  - { pack: base, rule: no-shell, controls: ['g-2:B'] }
`;

const UPPER_FRAGMENT = `guardrails:
  rules:
    - { name: note-cards, requires: [numbers], action: annotate, controls: ['g-2:C'] }
`;

const SIDE_PACK = "id: side\nversion: 1.0.0\ntitle: Side\ncontrols: []\n";
const SIDE_FRAGMENT =
  "access_rules:\n  - name: no-mail\n    at: [mcp]\n    condition: 'name == \"mail\"'\n    action: deny\n";

export function filesOf(pack: string, fragment: string): PackFiles {
  return {
    pack: { name: "pack.yaml", text: pack },
    fragment: { name: "fragment.yaml", text: fragment },
    readme: "# Readme",
    tests: undefined,
    trial: undefined,
  };
}

export function packOf(pack: string, fragment: string): Pack {
  const read = readPack(filesOf(pack, fragment));
  assert.equal(read.kind, "pack", read.kind === "refused" ? read.problems.join("\n") : "");
  assert.ok(read.kind === "pack");
  return read.pack;
}

export const BASE = packOf(BASE_PACK, BASE_FRAGMENT);
export const UPPER = packOf(UPPER_PACK, UPPER_FRAGMENT);
export const SIDE = packOf(SIDE_PACK, SIDE_FRAGMENT);

export const baseOf = (id: string): Pack | undefined => [BASE, UPPER, SIDE].find((pack) => pack.id === id);
