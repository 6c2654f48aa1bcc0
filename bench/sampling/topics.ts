/** A topic of the benchmark, and how a bare script polls it best. */
export interface SampledTopic {
  /** Of publisher.py, and of the rows. */
  readonly name: 'String' | 'LaserScan' | 'Image' | 'PointCloud2';
  readonly words: string;
  readonly type: string;
  readonly publishedHz: number;
  /**
   * The least depth at which a poll finds a whole message each time: of messages that come in many pieces, the only place of depth 1
   * is mostly taken by one that is still being put together.
   */
  readonly pollDepth: number;
  /** A plain subscription is to cost more than this many times ours; null: no goal. */
  readonly ofPlainAtMost: number | null;
}

export const TOPICS: readonly SampledTopic[] = [
  {
    ...{ name: 'String', words: 'String 1 kHz', type: 'std_msgs/msg/String', publishedHz: 1000 },
    ...{ pollDepth: 1, ofPlainAtMost: 0.6 },
  },
  {
    ...{ name: 'LaserScan', words: 'LaserScan 100 Hz', type: 'sensor_msgs/msg/LaserScan', publishedHz: 100 },
    ...{ pollDepth: 1, ofPlainAtMost: 0.6 },
  },
  {
    ...{ name: 'Image', words: 'Image 640×480 30 Hz', type: 'sensor_msgs/msg/Image', publishedHz: 30 },
    ...{ pollDepth: 5, ofPlainAtMost: 0.6 },
  },
  {
    ...{ name: 'PointCloud2', words: 'PointCloud2 1 MB 10 Hz', type: 'sensor_msgs/msg/PointCloud2', publishedHz: 10 },
    ...{ pollDepth: 5, ofPlainAtMost: null },
  },
];
