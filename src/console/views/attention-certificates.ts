/** Alerts about the listener's certificate: its expiry, and why no newer one was obtained. */

import type { CertificateRecord } from "../../admin-api/index.ts";
import { day } from "../format/times.ts";
import { rowsOf } from "../model/data.ts";
import type { AttentionItem, AttentionSource, Severity } from "./attention-item.ts";

export const CERTIFICATES: AttentionSource = {
  needs: [{ id: "list_certificates" }],
  items: ({ data }) => rowsOf(data, "certificates").flatMap((row) => itemOf(row) ?? []),
};

const SEVERITY: Readonly<Record<CertificateRecord["state"], Severity | undefined>> = {
  pending: "fail",
  valid: undefined,
  expires_soon: "warn",
  expires_now: "fail",
  expired: "fail",
};

function itemOf(row: CertificateRecord): AttentionItem | undefined {
  const { state, last_error: error, not_after: end, node } = row;
  const severity = SEVERITY[state] ?? (error === null ? undefined : "warn");
  if (severity === undefined) return undefined;
  const expiresAt = end === null ? undefined : Date.parse(end);
  const facts = [
    ...(expiresAt === undefined ? ["no certificate yet: nothing is served"] : []),
    ...(expiresAt !== undefined && state === "expired"
      ? [`certificate expired ${day(expiresAt)}: clients refuse it`]
      : []),
    ...(error === null ? [] : [`last error: ${error}`]),
  ];
  return {
    id: `certificate:${node}`,
    severity,
    weight: state === "expired" || state === "pending" ? 1 : 0.6,
    what: "CERT",
    kind: "node",
    name: node,
    ...(expiresAt === undefined || state === "expired"
      ? {}
      : { until: { label: "certificate expires in", at: expiresAt } }),
    text: facts.join(", "),
    target: { place: { view: "certificates" }, row: node },
    json: row,
  };
}
