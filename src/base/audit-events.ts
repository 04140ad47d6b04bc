/** Names of audit events: the trail writes them, and the admin API lists records by them. */
export const AUDIT_EVENTS = [
  "chain.start",
  "chain.resume",
  "chain.pause",
  "access.decision",
  "guardrail.decision",
  "guardrail.shadow",
  "admin.write",
  "auth.failure",
  "config.applied",
  "cluster.change",
  "reconcile.breach",
] as const;

export type AuditEventName = (typeof AUDIT_EVENTS)[number];
