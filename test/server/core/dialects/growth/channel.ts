/** Terms of a channel that claims everything. */
import type { translateRequest } from "../../../../../src/server/core/dialects/index.ts";

export const CHANNEL: Parameters<typeof translateRequest>[3] = {
  claims: () => true,
  endUserField: "user",
  acceptsStreamUsage: true,
  seal: { seal: JSON.stringify, open: () => undefined },
};
