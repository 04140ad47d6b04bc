/** Foreign gateways that are measured beside ours. */
import type { ForeignGateway, ForeignName } from "./foreign.ts";
import { LITELLM } from "./litellm.ts";
import { PORTKEY } from "./portkey.ts";

export const FOREIGN: Readonly<Record<ForeignName, ForeignGateway>> = { portkey: PORTKEY, litellm: LITELLM };
