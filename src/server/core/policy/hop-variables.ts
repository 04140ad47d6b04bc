/**
 * Variables that rules may read, by traffic type. Spec: document 3, `access_rules[]`, "Variables by hop".
 *
 * Missing values are empty: for a caller with a key, the fields of `agent` and `user` are empty texts. So a rule never fails
 * because of who is calling, and `has(user.email)` tests whether there is one. Only a key of `key.metadata`, `provider.metadata`
 * or `args` can be missing.
 *
 * `provider` is a text; `provider.name` and `provider.metadata` are separate variables (decisions, section 6).
 */

import { DYN, listOf, mapOf, recordOf, STRING, type VariableTypes } from "../cel/index.ts";

export const HOPS = ["llm", "mcp", "a2a"] as const;

export type Hop = (typeof HOPS)[number];

const TEXT_MAP = mapOf(STRING, STRING);

const CALLER: VariableTypes = {
  key: recordOf("key", { name: STRING, metadata: TEXT_MAP }),
  agent: recordOf("agent", { name: STRING, issuer: STRING, subject: STRING }),
  user: recordOf("user", { name: STRING, issuer: STRING, subject: STRING, email: STRING }),
};

const PART = recordOf("part", { kind: STRING, media_type: STRING, url: STRING, filename: STRING });

/** Types of the variables of each traffic type. */
export const HOP_VARIABLES: Readonly<Record<Hop, VariableTypes>> = {
  llm: {
    ...CALLER,
    model: STRING,
    upstream_model: STRING,
    provider: STRING,
    "provider.name": STRING,
    "provider.metadata": TEXT_MAP,
    route: STRING,
  },
  mcp: { ...CALLER, server: STRING, method: STRING, name: STRING, args: mapOf(STRING, DYN) },
  a2a: {
    ...CALLER,
    peer: STRING,
    method: STRING,
    role: STRING,
    task_id: STRING,
    context_id: STRING,
    parts: listOf(PART),
  },
};
