/**
 * Decides whether a caller may make a request, and records it. Source: design decisions, sections 3 and 4.
 *
 * A change is recorded with its outcome before the caller gets the answer; room for the record is reserved before anything is
 * done, so that nothing is done that cannot be recorded. Of reads, only denials are recorded.
 */

import { OPERATIONS, type Operation, type OperationId } from "../../admin-api/index.ts";
import type { Access, Resource } from "./access/types.ts";
import type { AuditEntry, AuditSink } from "./ports.ts";
import { actorOf, actorText, type Principal } from "./principal.ts";
import { errorAnswer, refusal } from "./refusal.ts";

/** Request whose caller is authenticated. */
export interface AuthenticatedRequest {
  readonly id: OperationId;
  readonly operation: Operation;
  readonly principal: Principal;
  readonly resource: Resource;
  /** Way in which the request arrived: `local` (admin socket) or `network` (admin listener). */
  readonly listener: string;
  readonly requestId: string;
}

/** Returns the resource that a request refers to. `params`: path parameters, already validated. */
export function resourceOf({ resource }: Operation, params: object): Resource {
  const values = new Map<string, unknown>(Object.entries(params));
  if ("name" in resource) return { kind: resource.kind, name: resource.name };
  const { kind, param } = resource;
  const name = typeof param === "string" ? values.get(param) : `${values.get(param[0])}:${values.get(param[1])}`;
  return { kind, name: String(name) };
}

/** Returns whether the policy permits the caller another operation, whose resource has a fixed name. Records nothing. */
export function isPermitted(
  access: Access,
  { principal }: Pick<AuthenticatedRequest, "principal">,
  action: OperationId,
): boolean {
  const operation: Operation = OPERATIONS[action];
  const resource = resourceOf(operation, {});
  return access.decide({ principal, action, group: operation.group, resource }).isAllowed;
}

/** Checks that the policy permits the request. Otherwise records the denial, then throws `forbidden` with action and resource. */
export async function authorize(access: Access, audit: AuditSink, request: AuthenticatedRequest): Promise<void> {
  const { id: action, operation, principal, resource } = request;
  const decision = access.decide({ principal, action, group: operation.group, resource });
  if (decision.isAllowed) return;
  const data = {
    ...auditFacts(request),
    decision: "deny",
    policies: truncateList(decision.policies),
    failed_policies: truncateList(decision.failed),
  };
  await audit.reserve().record({ event: "access.decision", data });
  throw refusal("forbidden", `The admin policy does not permit ${action} on ${resourceText(resource)}.`, {
    action,
    resource: resourceText(resource),
    principal: actorText(actorOf(principal)),
    roles: principal.roles,
  });
}

/**
 * Makes a change and records its outcome; for a dry run, only that it was made. Rejects as `change` does, or with
 * `audit_unavailable`.
 */
export async function recordChange<T extends { readonly value: unknown }>(
  audit: AuditSink,
  request: AuthenticatedRequest & { readonly isDryRun?: boolean },
  change: () => Promise<T>,
): Promise<T> {
  const reservation = audit.reserve();
  let result: { readonly reply: T } | { readonly error: unknown };
  try {
    result = { reply: await change() };
  } catch (error) {
    result = { error };
  }
  const outcome = {
    ...("error" in result
      ? failureFields(result.error)
      : { outcome: "done", ...recordedFields(request.operation, result.reply.value) }),
    ...(request.isDryRun === true && { dry_run: true }),
  };
  try {
    await reservation.record({ event: "admin.write", data: { ...auditFacts(request), ...outcome } });
  } catch (cause) {
    // The outcome is passed on, because a caller that repeats the request must know whether it may have taken effect.
    throw refusal("audit_unavailable", "The outcome of the request could not be recorded.", outcome, cause);
  }
  if ("error" in result) throw result.error;
  return result.reply;
}

/** Returns the fields of the answer that the operations table lists for the audit record. */
function recordedFields({ records = [] }: Operation, answer: unknown): AuditEntry["data"] {
  const fields = new Map<string, unknown>(Object.entries(answer ?? {}));
  return Object.fromEntries(
    records.flatMap((name) => {
      const value = fields.get(name);
      return isFact(value) ? [[name, value]] : [];
    }),
  );
}

type Fact = AuditEntry["data"][string];

function isFact(value: unknown): value is Fact {
  return (
    value === null ||
    ["string", "number", "boolean"].includes(typeof value) ||
    (Array.isArray(value) && value.every((item) => typeof item === "string"))
  );
}

/** Returns outcome and code of a failure for the record. Outcome `unknown`: the change may still take effect. */
function failureFields(error: unknown): { readonly outcome: string; readonly code: string } {
  const { code, outcome } = errorAnswer(error);
  return { outcome: outcome ?? (code === "internal" ? "unknown" : "refused"), code };
}

function auditFacts({ id, principal, resource, listener, requestId }: AuthenticatedRequest): AuditEntry["data"] {
  return {
    action: id,
    resource: resourceText(resource),
    principal: actorText(actorOf(principal)),
    ...(principal.name !== undefined && { principal_name: principal.name }),
    roles: truncateList(principal.roles),
    door: listener,
    request_id: requestId,
  };
}

/** Maximum length of a list in a record, in UTF-16 units. It is limited, since callers determine how long lists are. */
const MAX_LIST_LENGTH = 600;

/** Shortens a list to `MAX_LIST_LENGTH`. With a longer one, the rest of the record would be truncated. */
function truncateList(names: readonly string[]): readonly string[] {
  let length = 0;
  const kept = names.filter((name) => {
    length += name.length + 3;
    return length <= MAX_LIST_LENGTH;
  });
  return kept.length === names.length ? names : [...kept, `… ${names.length - kept.length} more`];
}

const resourceText = ({ kind, name }: Resource): string => `${kind}::${JSON.stringify(name)}`;
