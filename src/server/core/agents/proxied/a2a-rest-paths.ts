/**
 * Recognizes A2A requests of the HTTP+JSON binding by their path; the body is the method's parameters. A proxy may add any
 * prefix. Source: A2A specification, 11.
 */

interface RestRow {
  readonly verb: "GET" | "POST" | "DELETE";
  readonly path: RegExp;
  readonly method: string;
  /** True if other protocols use the path too. It then counts as A2A only if a header says so. */
  readonly isCommon?: true;
}

const ROWS: readonly RestRow[] = [
  { verb: "POST", path: /\/message:send$/, method: "SendMessage" },
  { verb: "POST", path: /\/message:stream$/, method: "SendStreamingMessage" },
  { verb: "POST", path: /\/tasks\/[^/]+:cancel$/, method: "CancelTask" },
  { verb: "POST", path: /\/tasks\/[^/]+:subscribe$/, method: "SubscribeToTask" },
  { verb: "GET", path: /\/tasks\/[^/]+:subscribe$/, method: "SubscribeToTask" },
  { verb: "POST", path: /\/tasks\/[^/]+\/pushNotificationConfigs$/, method: "CreateTaskPushNotificationConfig" },
  { verb: "GET", path: /\/pushNotificationConfigs$/, method: "ListTaskPushNotificationConfigs", isCommon: true },
  { verb: "GET", path: /\/pushNotificationConfigs\/[^/]+$/, method: "GetTaskPushNotificationConfig", isCommon: true },
  {
    verb: "DELETE",
    path: /\/pushNotificationConfigs\/[^/]+$/,
    method: "DeleteTaskPushNotificationConfig",
    isCommon: true,
  },
  { verb: "GET", path: /\/tasks$/, method: "ListTasks", isCommon: true },
  { verb: "GET", path: /\/tasks\/[^/]+$/, method: "GetTask", isCommon: true },
  { verb: "GET", path: /\/extendedAgentCard$/, method: "GetExtendedAgentCard", isCommon: true },
];

/** Returns the A2A method of a path, or `undefined` if it has none. `path` has no query. */
export function restMethod(verb: string, path: string, hasA2aHeader: boolean): string | undefined {
  return ROWS.find((row) => row.verb === verb && (hasA2aHeader || row.isCommon !== true) && row.path.test(path))
    ?.method;
}
