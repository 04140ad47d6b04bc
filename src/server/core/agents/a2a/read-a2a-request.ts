/**
 * Reads a request of the Agent2Agent protocol 1.0 over JSON-RPC, or refuses it. Servers with protobuf parsers accept more
 * spellings than canonical JSON. A request that they might read differently than rules and guardrails do is refused. Source:
 * a2a reference, 2 to 5 and 7; A2A specification, 3.6 and 9.
 */
import { applySplices, isNullOrAbsent, type JsonNode, mayBeReadAs, memberOf, stringIn } from "../../dialects/index.ts";
import {
  type Envelope,
  findAlias,
  INVALID_PARAMS,
  isJsonType,
  METHOD_NOT_FOUND,
  readEnvelope,
} from "../rpc-envelope.ts";
import type { RpcFault } from "../types.ts";
import { a2aFault, FAULT_STATUS } from "./a2a-faults.ts";

export const A2A_VERSION = "1.0";

const CONTENT_MEMBERS = ["text", "raw", "url", "data"] as const;
const PART_MEMBERS = [...CONTENT_MEMBERS, "metadata", "filename", "mediaType"] as const;
const MESSAGE_MEMBERS = [
  "messageId",
  "role",
  "parts",
  "contextId",
  "taskId",
  "metadata",
  "extensions",
  "referenceTaskIds",
] as const;
const CONFIGURATION_MEMBERS = [
  "acceptedOutputModes",
  "taskPushNotificationConfig",
  "historyLength",
  "returnImmediately",
] as const;
const ROLES: ReadonlySet<string> = new Set(["ROLE_USER", "ROLE_AGENT"]);

/** Member names of a method's `params`, and which of them rules read as `task_id` and `context_id`. */
interface Method {
  readonly params: readonly string[];
  readonly task?: string;
  readonly context?: string;
}

const SEND_METHOD: Method = { params: ["tenant", "message", "configuration", "metadata"] };
const TASK_METHOD: Method = { params: ["tenant", "id", "historyLength", "metadata"], task: "id" };
const PUSH_METHOD: Method = { params: [], task: "taskId" };

const METHODS: ReadonlyMap<string, Method> = new Map([
  ["SendMessage", SEND_METHOD],
  ["SendStreamingMessage", SEND_METHOD],
  ["GetTask", TASK_METHOD],
  ["CancelTask", TASK_METHOD],
  ["SubscribeToTask", TASK_METHOD],
  [
    "ListTasks",
    {
      params: [
        "tenant",
        "contextId",
        "status",
        "pageSize",
        "pageToken",
        "historyLength",
        "statusTimestampAfter",
        "includeArtifacts",
      ],
      context: "contextId",
    },
  ],
  ["CreateTaskPushNotificationConfig", PUSH_METHOD],
  ["GetTaskPushNotificationConfig", PUSH_METHOD],
  ["ListTaskPushNotificationConfigs", PUSH_METHOD],
  ["DeleteTaskPushNotificationConfig", PUSH_METHOD],
  ["GetExtendedAgentCard", { params: ["tenant"] }],
]);

export interface A2aPart {
  readonly kind: "text" | "file" | "data";
  /** Media type of the part. It is empty if the part has none, like `url` and `filename`. */
  readonly media_type: string;
  readonly url: string;
  readonly filename: string;
}

export interface A2aRequest {
  /** JSON text of the id as received; `null` if it is missing. Agents answer a request without an id too. */
  readonly id: string;
  readonly method: string;
  /** Role of the message, `ROLE_USER` or `ROLE_AGENT`. Empty if the method has no message. */
  readonly role: string;
  readonly taskId: string;
  readonly contextId: string;
  readonly parts: readonly A2aPart[];
  readonly envelope: Envelope;
  readonly params: JsonNode | undefined;
  /** True if the protocol defines the method, so that its parameters are known. */
  readonly isKnown: boolean;
  /** Body to send upstream if the received one used protobuf's names; `undefined` if the received one is sent. */
  readonly body: Buffer | undefined;
}

export type A2aReading =
  | { readonly kind: "read"; readonly request: A2aRequest }
  | { readonly kind: "refused"; readonly fault: RpcFault };

export interface A2aArrival {
  /** Headers by lower-case name; repeated ones are joined with a comma. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Values of the query parameter `A2A-Version`. */
  readonly versions: readonly string[];
  readonly body: Buffer;
}

export function readA2aRequest(arrival: A2aArrival): A2aReading {
  return readCanonical(arrival, undefined);
}

/** Reads a request. `translated` is the body with canonical names, if names were changed. */
function readCanonical({ headers, versions, body }: A2aArrival, translated: Buffer | undefined): A2aReading {
  const { "content-type": type = "", "a2a-version": versionHeader } = headers;
  if (!isJsonType(String(type))) return refused(a2aFault("content_type", "null"));
  const reading = readEnvelope(body, "lenient");
  if (reading.kind === "refused") return refused({ ...reading.fault, status: FAULT_STATUS });
  const { envelope } = reading;
  const { text, method, params } = envelope;
  const id = envelope.id ?? "null";
  const stated = versionHeader === undefined ? versions : [String(versionHeader), ...versions];
  if (stated.length === 0) return refused(a2aFault("no_version", id));
  if (!stated.every((version) => isSupported(version.trim()))) return refused(a2aFault("version", id));
  const known = METHODS.get(method);
  if (known === PUSH_METHOD) return refused(a2aFault("push", id));
  if (known === undefined && resemblesKnownMethod(method)) {
    return refused({ status: FAULT_STATUS, code: METHOD_NOT_FOUND, message: "Method not found", id });
  }
  if (params !== undefined && params.kind !== "object") return refused(invalidParams("not an object", id));
  const canonical =
    known === undefined || known === SEND_METHOD ? undefined : withCanonicalNames(text, params, known.params);
  if (canonical !== undefined) {
    const translatedBody = Buffer.from(canonical);
    return readCanonical({ headers, versions, body: translatedBody }, translatedBody);
  }
  const alias = findAlias(params, known?.params ?? []);
  if (alias !== undefined) return refused(invalidParams(`a member is spelled almost like "${alias}"`, id));
  const read = known === SEND_METHOD ? readSendParams(text, params, id) : readTaskParams(text, params, known, id);
  if ("code" in read) return refused(read);
  const isKnown = known !== undefined;
  return { kind: "read", request: { id, method, envelope, params, isKnown, body: translated, ...read } };
}

/** Returns whether a server might read the unknown name as a known method, or as one of an older version of the protocol. */
const resemblesKnownMethod = (method: string): boolean =>
  method.includes("/") || [...METHODS.keys()].some((name) => mayBeReadAs(method, name.toLowerCase()));

const invalidParams = (problem: string, id: string): RpcFault => ({
  status: FAULT_STATUS,
  code: INVALID_PARAMS,
  message: `Invalid params: ${problem}.`,
  id,
});

type ParamFields = Pick<A2aRequest, "role" | "taskId" | "contextId" | "parts">;

/** Reads the parameters of a method without a message. */
function readTaskParams(
  text: string,
  params: JsonNode | undefined,
  method: Method | undefined,
  id: string,
): ParamFields | RpcFault {
  const fieldOf = (name: string | undefined): string | undefined =>
    name === undefined ? "" : textOrAbsent(text, params, name);
  const taskId = fieldOf(method?.task);
  if (taskId === undefined) return invalidParams(`\`${method?.task}\` is not a string`, id);
  const contextId = fieldOf(method?.context);
  if (contextId === undefined) return invalidParams(`\`${method?.context}\` is not a string`, id);
  return { role: "", taskId, contextId, parts: [] };
}

/** Reads the parameters of a method that sends a message. Registering push notifications with it is refused. */
function readSendParams(text: string, params: JsonNode | undefined, id: string): ParamFields | RpcFault {
  const configuration = memberOf(params, "configuration");
  const alias = findAlias(configuration, CONFIGURATION_MEMBERS);
  if (alias !== undefined) return invalidParams(`a member is spelled almost like "${alias}"`, id);
  if (!isNullOrAbsent(text, memberOf(configuration, "taskPushNotificationConfig"))) return a2aFault("push", id);
  const message = readMessage(text, memberOf(params, "message"));
  return typeof message === "string" ? invalidParams(message, id) : message;
}

/** Reads a message. Returns a description of the problem if it is invalid. */
function readMessage(text: string, message: JsonNode | undefined): ParamFields | string {
  if (message?.kind !== "object") return "`message` is not an object";
  const alias = findAlias(message, MESSAGE_MEMBERS);
  if (alias !== undefined) return `a member of \`message\` is spelled almost like "${alias}"`;
  const role = stringIn(text, memberOf(message, "role")) ?? "";
  if (!ROLES.has(role)) return "`role` is neither ROLE_USER nor ROLE_AGENT";
  const taskId = textOrAbsent(text, message, "taskId");
  if (taskId === undefined) return "`taskId` is not a string";
  const contextId = textOrAbsent(text, message, "contextId");
  if (contextId === undefined) return "`contextId` is not a string";
  if (textOrAbsent(text, message, "messageId") === undefined) return "`messageId` is not a string";
  const list = memberOf(message, "parts");
  if (list?.kind !== "array" || list.items.length === 0) return "`parts` is not a list of parts";
  const parts: A2aPart[] = [];
  for (const item of list.items) {
    const part = partOf(text, item);
    if (typeof part === "string") return part;
    parts.push(part);
  }
  return { role, taskId, contextId, parts };
}

/**
 * Translates the names of proto files (`context_id`) to canonical ones (`contextId`). Protobuf parsers accept both, and clients
 * such as the official compatibility kit send them. Returns `undefined` if `params` has none. A member present in both
 * spellings becomes a repeated name, which is refused. Names within a message are not translated. Source: a2a reference, 5.
 */
function withCanonicalNames(text: string, params: JsonNode | undefined, known: readonly string[]): string | undefined {
  if (params?.kind !== "object" || !params.members.some(({ name }) => name.includes("_"))) return undefined;
  const names = params.members.map(
    ({ name }) => known.find((one) => one !== name && protobufName(one) === name) ?? name,
  );
  if (names.every((name, at) => name === params.members[at]?.name)) return undefined;
  const members = params.members.map(
    ({ value }, at) => `${JSON.stringify(names[at])}:${text.slice(value.start, value.end)}`,
  );
  return applySplices(text, [{ start: params.start, end: params.end, text: `{${members.join(",")}}` }]);
}

const protobufName = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Methods of A2A 0.3, which other proxies may route. Source: a2a reference, 7. */
const OLD_METHODS: ReadonlySet<string> = new Set([
  "message/send",
  "message/stream",
  "tasks/get",
  "tasks/cancel",
  "tasks/resubscribe",
  "tasks/pushNotificationConfig/set",
  "tasks/pushNotificationConfig/get",
  "tasks/pushNotificationConfig/list",
  "tasks/pushNotificationConfig/delete",
  "agent/getAuthenticatedExtendedCard",
]);

export const isA2aMethod = (method: string): boolean => METHODS.has(method) || OLD_METHODS.has(method);

/**
 * Describes what some agents would read differently in a message's parameters. Returns `undefined` if nothing is ambiguous.
 * Missing members are not reported.
 */
export function ambiguityInMessage(text: string, params: JsonNode | undefined): string | undefined {
  const message = memberOf(params, "message");
  const read = [
    [params, SEND_METHOD.params],
    [memberOf(params, "configuration"), CONFIGURATION_MEMBERS],
    [message, MESSAGE_MEMBERS],
  ] as const;
  for (const [node, known] of read) {
    const alias = findAlias(node, known);
    if (alias !== undefined) return `a member is spelled almost like "${alias}"`;
  }
  const parts = memberOf(message, "parts");
  if (parts?.kind !== "array") return undefined;
  for (const part of parts.items) {
    const alias = findAlias(part, PART_MEMBERS);
    if (alias !== undefined) return `a member of a part is spelled almost like "${alias}"`;
    if (CONTENT_MEMBERS.filter((name) => !isNullOrAbsent(text, memberOf(part, name))).length > 1)
      return NOT_ONE_CONTENT;
  }
  return undefined;
}

const NOT_ONE_CONTENT = "a part must have exactly one of text, raw, url and data";

/** Reads a part of a message. Returns a description of the problem if it is invalid. */
function partOf(text: string, part: JsonNode): A2aPart | string {
  if (part.kind !== "object") return "a part is not an object";
  const alias = findAlias(part, PART_MEMBERS);
  if (alias !== undefined) return `a member of a part is spelled almost like "${alias}"`;
  const contents = CONTENT_MEMBERS.filter((name) => !isNullOrAbsent(text, memberOf(part, name)));
  // `null` is a valid value of `data`.
  const [content, second] = contents.length === 0 && memberOf(part, "data") !== undefined ? ["data"] : contents;
  if (content === undefined || second !== undefined) return NOT_ONE_CONTENT;
  for (const name of ["text", "raw", "url", "filename", "mediaType"]) {
    if (!isTextOrAbsent(text, memberOf(part, name))) return `\`${name}\` of a part is not a string`;
  }
  const textOf = (name: string): string => stringIn(text, memberOf(part, name)) ?? "";
  return {
    kind: content === "text" || content === "data" ? content : "file",
    media_type: textOf("mediaType"),
    url: textOf("url"),
    filename: textOf("filename"),
  };
}

/** Returns the text of a member, which is empty if the member is null or absent; `undefined` if it is not a string. */
function textOrAbsent(text: string, node: JsonNode | undefined, name: string): string | undefined {
  const member = memberOf(node, name);
  return isTextOrAbsent(text, member) ? (stringIn(text, member) ?? "") : undefined;
}

const isTextOrAbsent = (text: string, node: JsonNode | undefined): boolean =>
  node?.kind === "string" || isNullOrAbsent(text, node);

/** Returns whether the gateway supports this version. The patch number is ignored. Source: A2A specification, 3.6. */
const isSupported = (version: string): boolean => /^1\.0(?:\.\d{1,6})?$/.test(version);

const refused = (fault: RpcFault): A2aReading => ({ kind: "refused", fault });
