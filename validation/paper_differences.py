"""Claims on the VCube papers that do not hold, by name, as docs/validation/vcube.md sums them up."""

BUNDLING_DIFFERS = frozenset(
    [
        "2.1.BIG10.free.messages",
        "2.1.BIG2.free.messages",
        "2.16.NO-AGGR.free.latency",
        "2.2.BIG2.free.messages",
        "2.4.NO-AGGR.free.latency",
        "2.8.NO-AGGR.free.latency",
        "3.128.BIG2.faulty.latency",
        "3.128.NO-AGGR.faulty.latency",
        "3.256.BIG2.faulty.latency",
        "3.256.BIG2.free.latency",
        "3.32.NO-AGGR.free.latency",
        "3.512.BIG10.faulty.latency",
        "3.512.BIG2.faulty.latency",
        "3.512.BIG2.free.latency",
        "3.512.SMALL10.faulty.latency",
        "3.64.NO-AGGR.faulty.latency",
        "3.64.SMALL2.faulty.latency",
        "3.8.NO-AGGR.faulty.latency",
        "4.128.BIG10.faulty.messages",
        "4.128.BIG2.faulty.messages",
        "4.16.BIG2.faulty.messages",
        "4.256.BIG10.faulty.messages",
        "4.256.BIG10.free.messages",
        "4.256.BIG2.faulty.messages",
        "4.256.BIG2.free.messages",
        "4.512.BIG10.faulty.messages",
        "4.512.BIG2.faulty.messages",
        "4.512.BIG2.free.messages",
        "4.512.SMALL10.faulty.messages",
        "4.64.BIG2.faulty.messages",
        "5.16.BIG10.random.latency",
        "5.16.BIG2.random.latency",
        "5.16.NO-AGGR.random.latency",
        "5.16.SMALL10.random.latency",
        "5.16.SMALL2.random.latency",
        "5.8.BIG10.random.latency",
        "5.8.BIG2.random.latency",
        "5.8.NO-AGGR.random.latency",
        "5.8.SMALL10.random.latency",
        "5.8.SMALL2.random.latency",
    ]
)

CAUSAL_DIFFERS: frozenset[str] = frozenset()

RELIABLE_FAILS = frozenset(
    [
        "ack_cancelled",
        "all_at_detection_t0",
        "all_higher_than_vcube",
        "any_process_all",
        "any_process_dpath",
        "dpath_best_latency_t0",
        "dpath_best_latency_t1",
        "dpath_best_messages_t0",
        "dpath_best_messages_t1",
        "dpath_unaffected_t0",
        "higher_all_t0",
        "higher_all_t1",
        "imbalance_vcube",
        "no_ack_to_faulty",
        "random_messages_all",
        "random_time_fits",
        "source_first_round_all",
        "suspected_alone_tree",
        "suspected_before_delv",
    ]
)

RELIABLE_FAILS_ABOVE_128 = frozenset(["all_at_detection_t1", "all_higher_big_t1"])
