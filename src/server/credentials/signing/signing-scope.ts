/** Region and service that a signature names. Source: credentials reference, 1.1; design decisions, section 13. */

const DEFAULT_SERVICE = "bedrock";

/** Hosts that are signed for under the first label of their name. */
const OWN_SERVICES: ReadonlySet<string> = new Set(["bedrock-mantle", "aws-external-anthropic"]);

/** Matches the region in public, FIPS, VPC endpoint, GovCloud and China host names. */
const REGION_IN_HOST =
  /^(?:[a-z0-9-]+\.)*?[a-z0-9-]+\.([a-z]{2}(?:-[a-z]+)+-\d)\.(?:vpce\.)?(?:amazonaws\.com(?:\.cn)?|api\.aws)$/;

/** Returns the service to sign for. `preset`: service that the catalog names; empty if it names none. */
export function signingService(configured: string | undefined, preset: string, hostname: string): string {
  if (configured !== undefined) return configured;
  if (preset !== "") return preset;
  const [label = ""] = hostname.split(".");
  return OWN_SERVICES.has(label) ? label : DEFAULT_SERVICE;
}

type RegionFound =
  | { readonly kind: "region"; readonly region: string }
  | { readonly kind: "refused"; readonly message: string };

/** Returns the region to sign for. `configured`: the provider's `region`. `hostname`: without port. */
export function signingRegion(configured: string | undefined, hostname: string): RegionFound {
  const named = REGION_IN_HOST.exec(hostname.toLowerCase())?.[1];
  const region = configured ?? named;
  if (region === undefined) {
    const message = "the URL does not name the region that requests are signed for: set the provider's `region`";
    return { kind: "refused", message };
  }
  if (named !== undefined && named !== region) {
    return { kind: "refused", message: `\`region\` is ${region}, and the address is of ${named}` };
  }
  return { kind: "region", region };
}
