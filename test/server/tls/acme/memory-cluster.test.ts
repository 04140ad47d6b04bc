/** The twin in memory of the rows that orders are kept in keeps to what the rows of a cluster keep to. */
import { createMemoryCluster } from "./support/memory-cluster.ts";
import { storeContract } from "./support/store-contract.ts";

storeContract("rows in memory", async () => createMemoryCluster().store("n1"));
