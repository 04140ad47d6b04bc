/** Rehearsals of guardrails with texts. The texts are returned to the caller and stored nowhere. */

import { MAX_REHEARSED_LENGTH } from "../../../admin-api/index.ts";
import type { Handlers } from "../handler-types.ts";
import { requireProfile } from "../known-names.ts";
import { refusal } from "../refusal.ts";

export const guardrailHandlers: Pick<Handlers, "inspect_guardrails"> = {
  async inspect_guardrails({ body: { segments, profile, model, route }, signal }, ports) {
    if (profile !== undefined) requireProfile(ports, profile);
    const length = segments.reduce((sum, { text }) => sum + text.length, 0);
    if (length > MAX_REHEARSED_LENGTH) {
      throw invalidSegments(`must have at most ${MAX_REHEARSED_LENGTH} characters in all texts together`);
    }
    const answers = segments.filter(({ kind }) => kind === "output").length;
    if (answers > 0 && answers < segments.length) {
      throw invalidSegments("must be of one message: `output` is of an answer, all other kinds are of a request");
    }
    return { value: await ports.guardrails.rehearse({ segments, profile, model, route }, signal) };
  },
};

function invalidSegments(message: string): Error {
  return refusal("invalid", `The field \`segments\` ${message}.`, {
    in: "body",
    faults: [{ field: "segments", message }],
  });
}
