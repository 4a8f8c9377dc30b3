/** Everything that the server bounds, in one place. docs/reference/http.md has the same table, and a test compares them. */
export const limits = {
  /** Of a request's body, unless its endpoint declares more: 64 KiB of brackets keep the loop busy for some milliseconds. */
  bodyBytes: 65_536,
  /** The most that an endpoint may declare: so much JSON takes a tenth of a second, or two. */
  maxBodyBytes: 1_048_576,
  /** Of the request line and all headers together. */
  headerBytes: 16_384,
  headerCount: 100,
  urlLength: 4_096,
  /** Of one parameter in a path, before it is decoded: a lane's name of 200 characters, each of them escaped. */
  paramLength: 1_800,
  /** From the first byte, or from the connection, to the end of the headers. */
  headersTimeoutMs: 10_000,
  /** To the end of the body. */
  requestTimeoutMs: 30_000,
  /** How often the two above are looked at. */
  timeoutCheckMs: 1_000,
  /** Longer than the load balancers in front usually wait, so that they close an idle connection and not we. */
  keepAliveTimeoutMs: 65_000,
  /** Without a byte in either direction. Above the longest poll there is. */
  connectionTimeoutMs: 150_000,
  handshakeTimeoutMs: 10_000,
  /** An agent holds one while it waits, and another while it works: enough for two thousand of them. */
  maxConnections: 5_000,
  /** Beyond those: told that there are too many. A connection beyond these as well is closed without a word. */
  spareConnections: 100,
  /** How long requests under way may take once the server closes. */
  closeGraceMs: 10_000,
  /** How long an answer waits for the database. */
  databaseWaitMs: 2_000,
  /** How long the body of a message waits for the database: it may have many megabytes. */
  bodyWaitMs: 10_000,
  /** How long many messages are replayed by one request. Those that are left then are named. */
  maxReplayMs: 20_000,
  /** How long a control waits for the other node, unless the caller says otherwise, and at the most. */
  controlWaitMs: 10_000,
  maxControlWaitMs: 60_000,
  /** How long an agent may wait for work, and anybody for a job. */
  maxPollMs: 120_000,
  /** A listener to events hears something at least so often. */
  keepAliveMs: 15_000,
  /** A listener that takes nothing for so long is cut off. */
  listenerStallMs: 30_000,
  /** Who listen to the cluster at one node: a tab of a browser is one. */
  clusterListeners: 500,
  /** How often the database is asked for all of them, while there are any. */
  clusterLookMs: 1_000,
  /** A week at the dashboard; then one signs in again. A token that ends before ends it. */
  sessionMs: 604_800_000,
  /** How long a connection to another node may take, to which something is sent on. */
  forwardConnectMs: 2_000,
  /** How long that node may take to answer. */
  forwardMs: 30_000,
  /** Of such an answer. */
  forwardBytes: 4_194_304,
  pageSize: 100,
  maxPageSize: 1_000,
} as const;

export type Limits = { readonly [Name in keyof typeof limits]: number };
