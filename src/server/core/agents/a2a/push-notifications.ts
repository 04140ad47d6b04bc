/** Detects requests that ask an agent to post its results to a URL. Source: a2a reference, 3 and 7. */
import { isNullOrAbsent, type JsonNode, memberOf } from "../../dialects/index.ts";

const CREATING: ReadonlySet<string> = new Set(["CreateTaskPushNotificationConfig", "tasks/pushNotificationConfig/set"]);
const SENDING: ReadonlySet<string> = new Set(["SendMessage", "SendStreamingMessage", "message/send", "message/stream"]);
/**
 * Member names in A2A 1.0 and 0.3, in lower case and without underscores, since lenient parsers ignore case and underscores.
 */
const CONFIGURATIONS: ReadonlySet<string> = new Set(["taskpushnotificationconfig", "pushnotificationconfig"]);

/** Returns whether a request asks for push notifications. `source` is the text that the positions of `params` refer to. */
export function asksForPush(source: string, method: string, params: JsonNode | undefined): boolean {
  if (CREATING.has(method)) return true;
  const configuration = SENDING.has(method) ? memberOf(params, "configuration") : undefined;
  if (configuration?.kind !== "object") return false;
  return configuration.members.some(
    ({ name, value }) => CONFIGURATIONS.has(name.toLowerCase().replaceAll("_", "")) && !isNullOrAbsent(source, value),
  );
}
