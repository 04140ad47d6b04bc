/** Rehearses a change of the configuration on recent requests. */
import { parseDuration } from "../../../base/index.ts";
import type { Handlers } from "../handler-types.ts";
import { DEFAULT_SINCE_MS, withPermittedExamples } from "../rehearsal-answer.ts";
import { valueOrRefusal } from "./sources.ts";

export const rehearsalHandlers: Pick<Handlers, "rehearse"> = {
  async rehearse({ body: { source = "default", document, since }, may, signal }, { rehearsals }) {
    const sinceMs = since === undefined ? DEFAULT_SINCE_MS : (parseDuration(since) ?? DEFAULT_SINCE_MS);
    return {
      value: withPermittedExamples(
        may,
        valueOrRefusal(await rehearsals.rehearse({ source, document, sinceMs }, signal)),
      ),
    };
  },
};
