/** Secret files: looked up for references, watched for changes. */

export { type Lookup, openSecrets, type Schedule, type Secrets, type WatchOptions } from "./secrets.ts";
