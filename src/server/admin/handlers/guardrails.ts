/** Guardrails in force, and rehearsals with texts. The texts are returned to the caller and stored nowhere. */

import { type GuardrailRecord, MAX_REHEARSED_LENGTH } from "../../../admin-api/index.ts";
import type { Handlers } from "../handler.ts";
import { mustBeProfile } from "../known-names.ts";
import { counted, fixed, type ListSource } from "../lists.ts";
import type { Ports } from "../ports.ts";
import { refusal } from "../refusal.ts";

/** Changes immediately with the configuration, and at most once a second with the counts. */
export function guardrailList({ cluster, guardrails }: Ports): ListSource<GuardrailRecord> {
  return {
    ...counted((listener) => guardrails.onChange(listener)),
    take() {
      const { nodeId: node } = cluster.status();
      return fixed(guardrails.list().map((row) => ({ ...row, node })));
    },
  };
}

export const guardrailHandlers: Pick<Handlers, "inspect_guardrails"> = {
  async inspect_guardrails({ body: { segments, profile, model, route }, signal }, ports) {
    if (profile !== undefined) mustBeProfile(ports, profile);
    const length = segments.reduce((sum, { text }) => sum + text.length, 0);
    if (length > MAX_REHEARSED_LENGTH) {
      throw wrong(`must have at most ${MAX_REHEARSED_LENGTH} characters in all texts together`);
    }
    const answers = segments.filter(({ kind }) => kind === "output").length;
    if (answers > 0 && answers < segments.length) {
      throw wrong("must be of one message: `output` is of an answer, all other kinds are of a request");
    }
    return { value: await ports.guardrails.rehearse({ segments, profile, model, route }, signal) };
  },
};

function wrong(message: string): Error {
  return refusal("invalid", `The field \`segments\` ${message}.`, {
    in: "body",
    faults: [{ field: "segments", message }],
  });
}
