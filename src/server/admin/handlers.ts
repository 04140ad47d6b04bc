/** Each operation of the table with its handler, and each list with its source: none is missing, or this does not compile. */

import type { Handlers, ListSources } from "./handler.ts";
import { clusterHandlers, memberList } from "./handlers/cluster.ts";
import { keyHandlers, keyList } from "./handlers/keys.ts";
import { nodeHandlers } from "./handlers/node.ts";
import { secretHandlers, secretList } from "./handlers/secrets.ts";
import { sourceHandlers, sourceList } from "./handlers/sources.ts";
import { suspensionHandlers, suspensionList } from "./handlers/suspensions.ts";

export const HANDLERS: Handlers = {
  ...keyHandlers,
  ...suspensionHandlers,
  ...secretHandlers,
  ...sourceHandlers,
  ...clusterHandlers,
  ...nodeHandlers,
};

export const LISTS: ListSources = {
  keys: keyList,
  suspensions: suspensionList,
  secrets: secretList,
  sources: sourceList,
  cluster_members: memberList,
};
