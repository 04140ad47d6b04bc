/** Rows of `certificates`: the data listener's certificate, and the progress of a newer one. */
import { systemClock } from "../../../base/index.ts";
import type { RowsOf } from "../../admin/index.ts";
import { type Certificates, expiryStage } from "../../tls/index.ts";

/** Returns the rows. `certificates`: `undefined` if the node serves plain HTTP. */
export function certificateRows(certificates: Certificates | undefined): RowsOf<"certificates"> {
  if (certificates === undefined) return { list: () => [], onChange: () => () => undefined };
  return {
    list() {
      const current = certificates.current();
      const { source, names, nextRenewal, step, failure, failures, nextAttempt } = certificates.status();
      return [
        {
          names: [...(current?.names ?? names)],
          source,
          state: current === undefined ? "pending" : expiryStage(current, systemClock.now()),
          serial: current?.serial ?? null,
          issuer: current?.issuer ?? null,
          not_before: timeOf(current?.notBefore),
          not_after: timeOf(current?.notAfter),
          next_renewal: timeOf(nextRenewal),
          step: step ?? null,
          last_error: failure?.message ?? null,
          last_error_at: timeOf(failure?.at),
          failures,
          next_attempt: timeOf(nextAttempt),
        },
      ];
    },
    onChange: (listener) => certificates.onChange(listener),
  };
}

const timeOf = (ms: number | undefined): string | null => (ms === undefined ? null : new Date(ms).toISOString());
