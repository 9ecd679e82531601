"""The typed names of Kafka's error codes and exceptions.

Generated from schemas/errors.tsv by `make generate`; edits here are lost.
"""

from kafkawire.messages._error_table import ApiError, CodeRoot, KafkaError

__all__ = [
    "ApiError",
    "AuthenticationError",
    "AuthorizationError",
    "BrokerIdNotRegisteredError",
    "BrokerNotAvailableError",
    "ClusterAuthorizationError",
    "ClusterAuthorizationFailedError",
    "ConcurrentTransactionsError",
    "ControllerIdNotRegisteredError",
    "ControllerMovedError",
    "CoordinatorLoadInProgressError",
    "CoordinatorNotAvailableError",
    "CorruptMessageError",
    "CorruptRecordError",
    "DelegationTokenAuthDisabledError",
    "DelegationTokenAuthorizationError",
    "DelegationTokenAuthorizationFailedError",
    "DelegationTokenDisabledError",
    "DelegationTokenExpiredError",
    "DelegationTokenNotFoundError",
    "DelegationTokenOwnerMismatchError",
    "DelegationTokenRequestNotAllowedError",
    "DuplicateBrokerRegistrationError",
    "DuplicateResourceError",
    "DuplicateSequenceError",
    "DuplicateSequenceNumberError",
    "DuplicateVoterError",
    "ElectionNotNeededError",
    "EligibleLeadersNotAvailableError",
    "ErrorCode",
    "FeatureUpdateFailedError",
    "FencedInstanceIdError",
    "FencedLeaderEpochError",
    "FencedMemberEpochError",
    "FencedStateEpochError",
    "FetchSessionIdNotFoundError",
    "FetchSessionTopicIdError",
    "GroupAuthorizationError",
    "GroupAuthorizationFailedError",
    "GroupDeletionFailedError",
    "GroupIdNotFoundError",
    "GroupMaxSizeReachedError",
    "GroupNotEmptyError",
    "GroupSubscribedToTopicError",
    "IllegalGenerationError",
    "IllegalSaslStateError",
    "InconsistentClusterIdError",
    "InconsistentGroupProtocolError",
    "InconsistentTopicIdError",
    "InconsistentVoterSetError",
    "IneligibleReplicaError",
    "InvalidCommitOffsetSizeError",
    "InvalidConfigError",
    "InvalidConfigurationError",
    "InvalidFetchSessionEpochError",
    "InvalidFetchSizeError",
    "InvalidGroupIdError",
    "InvalidMetadataError",
    "InvalidOffsetError",
    "InvalidPartitionsError",
    "InvalidPidMappingError",
    "InvalidPrincipalTypeError",
    "InvalidProducerEpochError",
    "InvalidProducerIdMappingError",
    "InvalidRecordError",
    "InvalidRecordStateError",
    "InvalidRegistrationError",
    "InvalidRegularExpressionError",
    "InvalidReplicaAssignmentError",
    "InvalidReplicationFactorError",
    "InvalidRequestError",
    "InvalidRequiredAcksError",
    "InvalidSessionTimeoutError",
    "InvalidShareSessionEpochError",
    "InvalidTimestampError",
    "InvalidTopicError",
    "InvalidTransactionTimeoutError",
    "InvalidTxnStateError",
    "InvalidTxnTimeoutError",
    "InvalidUpdateVersionError",
    "InvalidVoterKeyError",
    "KafkaError",
    "KafkaStorageError",
    "LeaderNotAvailableError",
    "ListenerNotFoundError",
    "LogDirNotFoundError",
    "MemberIdRequiredError",
    "MessageTooLargeError",
    "MismatchedEndpointTypeError",
    "NetworkError",
    "NewLeaderElectedError",
    "NoReassignmentInProgressError",
    "NonEmptyGroupError",
    "NotControllerError",
    "NotCoordinatorError",
    "NotEnoughReplicasAfterAppendError",
    "NotEnoughReplicasError",
    "NotLeaderForPartitionError",
    "NotLeaderOrFollowerError",
    "OffsetMetadataTooLargeError",
    "OffsetMovedToTieredStorageError",
    "OffsetNotAvailableError",
    "OffsetOutOfRangeError",
    "OperationNotAttemptedError",
    "OutOfOrderSequenceError",
    "OutOfOrderSequenceNumberError",
    "PolicyViolationError",
    "PositionOutOfRangeError",
    "PreferredLeaderNotAvailableError",
    "PrincipalDeserializationError",
    "PrincipalDeserializationFailureError",
    "ProducerFencedError",
    "ReassignmentInProgressError",
    "RebalanceInProgressError",
    "RebootstrapRequiredError",
    "RecordBatchTooLargeError",
    "RecordListTooLargeError",
    "RecordTooLargeError",
    "ReplicaNotAvailableError",
    "RequestTimedOutError",
    "ResourceNotFoundError",
    "RetriableError",
    "SaslAuthenticationError",
    "SaslAuthenticationFailedError",
    "SecurityDisabledError",
    "ShareSessionLimitReachedError",
    "ShareSessionNotFoundError",
    "SnapshotNotFoundError",
    "StaleBrokerEpochError",
    "StaleControllerEpochError",
    "StaleMemberEpochError",
    "StreamsInvalidTopologyEpochError",
    "StreamsInvalidTopologyError",
    "StreamsTopologyDescriptionUpdateFailedError",
    "StreamsTopologyFencedError",
    "TelemetryTooLargeError",
    "ThrottlingQuotaExceededError",
    "TopicAlreadyExistsError",
    "TopicAuthorizationError",
    "TopicAuthorizationFailedError",
    "TopicDeletionDisabledError",
    "TopicExistsError",
    "TransactionAbortableError",
    "TransactionCoordinatorFencedError",
    "TransactionalIdAuthorizationError",
    "TransactionalIdAuthorizationFailedError",
    "TransactionalIdNotFoundError",
    "UnacceptableCredentialError",
    "UnknownControllerIdError",
    "UnknownLeaderEpochError",
    "UnknownMemberIdError",
    "UnknownProducerIdError",
    "UnknownServerError",
    "UnknownSubscriptionIdError",
    "UnknownTopicIdError",
    "UnknownTopicOrPartitionError",
    "UnreleasedInstanceIdError",
    "UnstableOffsetCommitError",
    "UnsupportedAssignorError",
    "UnsupportedByAuthenticationError",
    "UnsupportedCompressionTypeError",
    "UnsupportedEndpointTypeError",
    "UnsupportedForMessageFormatError",
    "UnsupportedSaslMechanismError",
    "UnsupportedVersionError",
    "VoterNotFoundError",
]


class ErrorCode(CodeRoot):
    """Every error code; any other number is UNKNOWN_SERVER_ERROR and keeps its number."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    INVALID_FETCH_SIZE = 4
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    BROKER_NOT_AVAILABLE = 8
    REPLICA_NOT_AVAILABLE = 9
    MESSAGE_TOO_LARGE = 10
    STALE_CONTROLLER_EPOCH = 11
    OFFSET_METADATA_TOO_LARGE = 12
    NETWORK_EXCEPTION = 13
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    INVALID_TOPIC_EXCEPTION = 17
    RECORD_LIST_TOO_LARGE = 18
    NOT_ENOUGH_REPLICAS = 19
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    INVALID_REQUIRED_ACKS = 21
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    INVALID_COMMIT_OFFSET_SIZE = 28
    TOPIC_AUTHORIZATION_FAILED = 29
    GROUP_AUTHORIZATION_FAILED = 30
    CLUSTER_AUTHORIZATION_FAILED = 31
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_SASL_MECHANISM = 33
    ILLEGAL_SASL_STATE = 34
    UNSUPPORTED_VERSION = 35
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
    POLICY_VIOLATION = 44
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    INVALID_TRANSACTION_TIMEOUT = 50
    CONCURRENT_TRANSACTIONS = 51
    TRANSACTION_COORDINATOR_FENCED = 52
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    SECURITY_DISABLED = 54
    OPERATION_NOT_ATTEMPTED = 55
    KAFKA_STORAGE_ERROR = 56
    LOG_DIR_NOT_FOUND = 57
    SASL_AUTHENTICATION_FAILED = 58
    UNKNOWN_PRODUCER_ID = 59
    REASSIGNMENT_IN_PROGRESS = 60
    DELEGATION_TOKEN_AUTH_DISABLED = 61
    DELEGATION_TOKEN_NOT_FOUND = 62
    DELEGATION_TOKEN_OWNER_MISMATCH = 63
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65
    DELEGATION_TOKEN_EXPIRED = 66
    INVALID_PRINCIPAL_TYPE = 67
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    FETCH_SESSION_ID_NOT_FOUND = 70
    INVALID_FETCH_SESSION_EPOCH = 71
    LISTENER_NOT_FOUND = 72
    TOPIC_DELETION_DISABLED = 73
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    UNSUPPORTED_COMPRESSION_TYPE = 76
    STALE_BROKER_EPOCH = 77
    OFFSET_NOT_AVAILABLE = 78
    MEMBER_ID_REQUIRED = 79
    PREFERRED_LEADER_NOT_AVAILABLE = 80
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
    ELECTION_NOT_NEEDED = 84
    NO_REASSIGNMENT_IN_PROGRESS = 85
    GROUP_SUBSCRIBED_TO_TOPIC = 86
    INVALID_RECORD = 87
    UNSTABLE_OFFSET_COMMIT = 88
    THROTTLING_QUOTA_EXCEEDED = 89
    PRODUCER_FENCED = 90
    RESOURCE_NOT_FOUND = 91
    DUPLICATE_RESOURCE = 92
    UNACCEPTABLE_CREDENTIAL = 93
    INCONSISTENT_VOTER_SET = 94
    INVALID_UPDATE_VERSION = 95
    FEATURE_UPDATE_FAILED = 96
    PRINCIPAL_DESERIALIZATION_FAILURE = 97
    SNAPSHOT_NOT_FOUND = 98
    POSITION_OUT_OF_RANGE = 99
    UNKNOWN_TOPIC_ID = 100
    DUPLICATE_BROKER_REGISTRATION = 101
    BROKER_ID_NOT_REGISTERED = 102
    INCONSISTENT_TOPIC_ID = 103
    INCONSISTENT_CLUSTER_ID = 104
    TRANSACTIONAL_ID_NOT_FOUND = 105
    FETCH_SESSION_TOPIC_ID_ERROR = 106
    INELIGIBLE_REPLICA = 107
    NEW_LEADER_ELECTED = 108
    OFFSET_MOVED_TO_TIERED_STORAGE = 109
    FENCED_MEMBER_EPOCH = 110
    UNRELEASED_INSTANCE_ID = 111
    UNSUPPORTED_ASSIGNOR = 112
    STALE_MEMBER_EPOCH = 113
    MISMATCHED_ENDPOINT_TYPE = 114
    UNSUPPORTED_ENDPOINT_TYPE = 115
    UNKNOWN_CONTROLLER_ID = 116
    UNKNOWN_SUBSCRIPTION_ID = 117
    TELEMETRY_TOO_LARGE = 118
    INVALID_REGISTRATION = 119
    TRANSACTION_ABORTABLE = 120
    INVALID_RECORD_STATE = 121
    SHARE_SESSION_NOT_FOUND = 122
    INVALID_SHARE_SESSION_EPOCH = 123
    FENCED_STATE_EPOCH = 124
    INVALID_VOTER_KEY = 125
    DUPLICATE_VOTER = 126
    VOTER_NOT_FOUND = 127
    INVALID_REGULAR_EXPRESSION = 128
    REBOOTSTRAP_REQUIRED = 129
    STREAMS_INVALID_TOPOLOGY = 130
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131
    STREAMS_TOPOLOGY_FENCED = 132
    SHARE_SESSION_LIMIT_REACHED = 133
    GROUP_DELETION_FAILED = 134
    STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED = 135
    CONTROLLER_ID_NOT_REGISTERED = 136


class UnknownServerError(ApiError):
    """UNKNOWN_SERVER_ERROR (-1): The broker failed in a way that has no code; its log has the reason."""

    CODE = -1

    def __init__(self, message: str | None = None, code: int = -1) -> None:
        KafkaError.__init__(self, code, message)
        self.args = (message, code)


class InvalidOffsetError(ApiError):
    """A kind of error; its subclasses say which."""


class OffsetOutOfRangeError(InvalidOffsetError):
    """OFFSET_OUT_OF_RANGE (1): The requested offset is before the first or past the last stored one. Retention
    removed it, or the log was truncated; seek to the beginning or the end."""

    CODE = 1


class RetriableError(ApiError):
    """A kind of error; its subclasses say which."""


class CorruptRecordError(RetriableError):
    """CORRUPT_MESSAGE (2): A record batch fails its checksum, has an impossible size, or lacks a key on a compacted
    topic; if retries agree, the stored bytes are damaged."""

    CODE = 2


class InvalidMetadataError(RetriableError):
    """A kind of error; its subclasses say which."""


class UnknownTopicOrPartitionError(InvalidMetadataError):
    """UNKNOWN_TOPIC_OR_PARTITION (3): The broker does not have this topic or partition: not created yet, deleted,
    misspelt, or hidden because the client lacks the Describe permission."""

    CODE = 3


class InvalidFetchSizeError(ApiError):
    """INVALID_FETCH_SIZE (4): The fetch asks for an invalid size, such as a negative number of bytes."""

    CODE = 4


class LeaderNotAvailableError(InvalidMetadataError):
    """LEADER_NOT_AVAILABLE (5): The partition has no leader at this moment, usually during an election. If this
    lasts, every replica that may lead is down."""

    CODE = 5


class NotLeaderForPartitionError(InvalidMetadataError):
    """A kind of error; its subclasses say which."""


class NotLeaderOrFollowerError(NotLeaderForPartitionError):
    """NOT_LEADER_OR_FOLLOWER (6): The request went to a broker that does not lead (or does not hold) the partition;
    fetch metadata and ask the new leader."""

    CODE = 6


class RequestTimedOutError(RetriableError):
    """REQUEST_TIMED_OUT (7): The broker did not finish within the time the request allowed; a write may still have
    happened."""

    CODE = 7


class BrokerNotAvailableError(ApiError):
    """BROKER_NOT_AVAILABLE (8): The broker that is needed is down, or not reachable from the one that answered."""

    CODE = 8


class ReplicaNotAvailableError(InvalidMetadataError):
    """REPLICA_NOT_AVAILABLE (9): The broker should hold a replica of the partition but cannot serve it now, for
    example while it is being moved."""

    CODE = 9


class RecordTooLargeError(ApiError):
    """MESSAGE_TOO_LARGE (10): A record batch is larger than max.message.bytes of the topic (message.max.bytes of the
    broker); send smaller batches or raise the limit."""

    CODE = 10


class ControllerMovedError(ApiError):
    """STALE_CONTROLLER_EPOCH (11): The request is from a controller that has been replaced."""

    CODE = 11


class OffsetMetadataTooLargeError(ApiError):
    """OFFSET_METADATA_TOO_LARGE (12): The metadata of a committed offset is longer than offset.metadata.max.bytes."""

    CODE = 12


class NetworkError(InvalidMetadataError):
    """NETWORK_EXCEPTION (13): The connection was closed before the response arrived; the request may have taken
    effect."""

    CODE = 13


class CoordinatorLoadInProgressError(RetriableError):
    """COORDINATOR_LOAD_IN_PROGRESS (14): The coordinator is still reading its group or transaction state after a
    start or a move; wait and ask again."""

    CODE = 14


class CoordinatorNotAvailableError(RetriableError):
    """COORDINATOR_NOT_AVAILABLE (15): There is no coordinator yet: its internal topic is being created or has no
    leader."""

    CODE = 15


class NotCoordinatorError(RetriableError):
    """NOT_COORDINATOR (16): Another broker coordinates this group or transactional id now; find the coordinator
    again."""

    CODE = 16


class InvalidTopicError(ApiError):
    """INVALID_TOPIC_EXCEPTION (17): The topic's name is not allowed (empty, too long, wrong characters), or the
    topic is internal and closed to this request."""

    CODE = 17


class RecordBatchTooLargeError(ApiError):
    """RECORD_LIST_TOO_LARGE (18): A produce request carries more in one batch than a segment of the topic can hold
    (segment.bytes)."""

    CODE = 18


class NotEnoughReplicasError(RetriableError):
    """NOT_ENOUGH_REPLICAS (19): Fewer replicas are in sync than min.insync.replicas demands, so nothing was written;
    bring replicas back or accept less safety."""

    CODE = 19


class NotEnoughReplicasAfterAppendError(RetriableError):
    """NOT_ENOUGH_REPLICAS_AFTER_APPEND (20): The records were written by the leader, but too few in-sync replicas
    followed in time; a retry may duplicate them unless the producer is idempotent."""

    CODE = 20


class InvalidRequiredAcksError(ApiError):
    """INVALID_REQUIRED_ACKS (21): acks was neither 0, 1 nor -1 (all)."""

    CODE = 21


class IllegalGenerationError(ApiError):
    """ILLEGAL_GENERATION (22): The request has a past generation of its group; the member missed a rebalance and
    must join again."""

    CODE = 22


class InconsistentGroupProtocolError(ApiError):
    """INCONSISTENT_GROUP_PROTOCOL (23): The member's protocol type or assignors have nothing in common with those of
    the group; align the consumers' partition.assignment.strategy."""

    CODE = 23


class InvalidGroupIdError(ApiError):
    """INVALID_GROUP_ID (24): The group id is empty or otherwise not acceptable here."""

    CODE = 24


class UnknownMemberIdError(ApiError):
    """UNKNOWN_MEMBER_ID (25): The group does not know this member: its session ran out, it was removed, or the
    coordinator lost it; join again."""

    CODE = 25


class InvalidSessionTimeoutError(ApiError):
    """INVALID_SESSION_TIMEOUT (26): session.timeout.ms lies outside the broker's group.min.session.timeout.ms to
    group.max.session.timeout.ms."""

    CODE = 26


class RebalanceInProgressError(ApiError):
    """REBALANCE_IN_PROGRESS (27): The group is being rebalanced; join again before fetching or committing."""

    CODE = 27


class InvalidCommitOffsetSizeError(ApiError):
    """INVALID_COMMIT_OFFSET_SIZE (28): The offsets of this commit do not fit in one record of the offsets topic;
    commit fewer partitions at a time."""

    CODE = 28


class AuthorizationError(ApiError):
    """A kind of error; its subclasses say which."""


class TopicAuthorizationError(AuthorizationError):
    """TOPIC_AUTHORIZATION_FAILED (29): The principal lacks the permission for one of the topics; check the ACLs of
    the topic."""

    CODE = 29


class GroupAuthorizationError(AuthorizationError):
    """GROUP_AUTHORIZATION_FAILED (30): The principal lacks the permission for the group; check the ACLs of the
    group."""

    CODE = 30


class ClusterAuthorizationError(AuthorizationError):
    """CLUSTER_AUTHORIZATION_FAILED (31): The principal lacks the permission for the cluster."""

    CODE = 31


class InvalidTimestampError(ApiError):
    """INVALID_TIMESTAMP (32): A record's timestamp is further from the broker's clock than the topic's limits allow;
    check the producer's clock and units (milliseconds)."""

    CODE = 32


class AuthenticationError(ApiError):
    """A kind of error; its subclasses say which."""


class UnsupportedSaslMechanismError(AuthenticationError):
    """UNSUPPORTED_SASL_MECHANISM (33): The broker does not offer the requested SASL mechanism; its response lists
    those that it offers."""

    CODE = 33


class IllegalSaslStateError(AuthenticationError):
    """ILLEGAL_SASL_STATE (34): The request does not fit the present step of authentication, such as a handshake sent
    twice or too late."""

    CODE = 34


class UnsupportedVersionError(ApiError):
    """UNSUPPORTED_VERSION (35): The broker does not serve this version of this API; ApiVersions lists the versions
    that it serves."""

    CODE = 35


class TopicExistsError(ApiError):
    """TOPIC_ALREADY_EXISTS (36): A topic with this name exists already, or is still being deleted."""

    CODE = 36


class InvalidPartitionsError(ApiError):
    """INVALID_PARTITIONS (37): The number of partitions is not acceptable: below one, or fewer than the topic has
    now."""

    CODE = 37


class InvalidReplicationFactorError(ApiError):
    """INVALID_REPLICATION_FACTOR (38): The replication factor is below one, or above the number of brokers that can
    take a replica."""

    CODE = 38


class InvalidReplicaAssignmentError(ApiError):
    """INVALID_REPLICA_ASSIGNMENT (39): The replica assignment is not usable: unknown or repeated brokers, gaps in
    partition numbers, or uneven lists."""

    CODE = 39


class InvalidConfigurationError(ApiError):
    """INVALID_CONFIG (40): A configuration key or value is refused; the error message names it."""

    CODE = 40


class NotControllerError(RetriableError):
    """NOT_CONTROLLER (41): This request is for the controller, and this broker is not the controller; fetch metadata
    and ask the controller."""

    CODE = 41


class InvalidRequestError(ApiError):
    """INVALID_REQUEST (42): The request is invalid: fields contradict each other, an element occurs twice, or the
    bytes cannot be parsed."""

    CODE = 42


class UnsupportedForMessageFormatError(ApiError):
    """UNSUPPORTED_FOR_MESSAGE_FORMAT (43): The record format of the partition is too old for the request, such as
    lookup by time, headers or transactions."""

    CODE = 43


class PolicyViolationError(ApiError):
    """POLICY_VIOLATION (44): A policy that the operator installed (create topic or alter configs) refused the
    request."""

    CODE = 44


class OutOfOrderSequenceError(ApiError):
    """OUT_OF_ORDER_SEQUENCE_NUMBER (45): A batch of an idempotent producer skipped sequence numbers: batches before
    it were lost, or came out of order."""

    CODE = 45


class DuplicateSequenceError(ApiError):
    """DUPLICATE_SEQUENCE_NUMBER (46): The broker already has the batch with this sequence number; its records are
    stored once."""

    CODE = 46


class InvalidProducerEpochError(ApiError):
    """INVALID_PRODUCER_EPOCH (47): The producer's epoch is older than the broker's: another instance with the same
    transactional id took over, or its transaction timed out."""

    CODE = 47


class InvalidTxnStateError(ApiError):
    """INVALID_TXN_STATE (48): The transaction is not in a state where this step is allowed."""

    CODE = 48


class InvalidPidMappingError(ApiError):
    """INVALID_PRODUCER_ID_MAPPING (49): The producer id does not belong to the transactional id, usually because the
    id expired unused; initialise the producer again."""

    CODE = 49


class InvalidTxnTimeoutError(ApiError):
    """INVALID_TRANSACTION_TIMEOUT (50): The transaction timeout is zero or less, or above the broker's
    transaction.max.timeout.ms."""

    CODE = 50


class ConcurrentTransactionsError(RetriableError):
    """CONCURRENT_TRANSACTIONS (51): The previous step of this transactional id is still being finished; try again
    shortly."""

    CODE = 51


class TransactionCoordinatorFencedError(ApiError):
    """TRANSACTION_COORDINATOR_FENCED (52): The markers are from a transaction coordinator that has been replaced."""

    CODE = 52


class TransactionalIdAuthorizationError(AuthorizationError):
    """TRANSACTIONAL_ID_AUTHORIZATION_FAILED (53): The principal lacks the permission for the transactional id."""

    CODE = 53


class SecurityDisabledError(ApiError):
    """SECURITY_DISABLED (54): No authorizer is set on this cluster, so ACLs can neither be read nor changed."""

    CODE = 54


class OperationNotAttemptedError(ApiError):
    """OPERATION_NOT_ATTEMPTED (55): This part was not tried, because an earlier part of the request or session
    failed."""

    CODE = 55


class KafkaStorageError(InvalidMetadataError):
    """KAFKA_STORAGE_ERROR (56): The broker had a disk error, and another broker will lead the partition; fetch
    metadata, and check the disks of this broker."""

    CODE = 56


class LogDirNotFoundError(ApiError):
    """LOG_DIR_NOT_FOUND (57): The directory is not among the broker's log.dirs, or is offline."""

    CODE = 57


class SaslAuthenticationError(AuthenticationError):
    """SASL_AUTHENTICATION_FAILED (58): The credentials were refused: wrong user, password, token or ticket."""

    CODE = 58


class UnknownProducerIdError(OutOfOrderSequenceError):
    """UNKNOWN_PRODUCER_ID (59): The broker has no state left for this producer, because all its records have been
    deleted or it was idle too long."""

    CODE = 59


class ReassignmentInProgressError(ApiError):
    """REASSIGNMENT_IN_PROGRESS (60): The partition is being moved to other brokers already; wait for it to finish or
    cancel it."""

    CODE = 60


class DelegationTokenDisabledError(ApiError):
    """DELEGATION_TOKEN_AUTH_DISABLED (61): Delegation tokens are switched off here (no delegation.token.secret.key)."""

    CODE = 61


class DelegationTokenNotFoundError(ApiError):
    """DELEGATION_TOKEN_NOT_FOUND (62): The broker does not know this delegation token."""

    CODE = 62


class DelegationTokenOwnerMismatchError(ApiError):
    """DELEGATION_TOKEN_OWNER_MISMATCH (63): The principal is neither the owner nor a renewer of this delegation
    token."""

    CODE = 63


class UnsupportedByAuthenticationError(ApiError):
    """DELEGATION_TOKEN_REQUEST_NOT_ALLOWED (64): This connection may not request delegation tokens: it is
    unauthenticated, or was itself opened with a token."""

    CODE = 64


class DelegationTokenAuthorizationError(AuthorizationError):
    """DELEGATION_TOKEN_AUTHORIZATION_FAILED (65): The principal lacks the permission for the delegation token."""

    CODE = 65


class DelegationTokenExpiredError(ApiError):
    """DELEGATION_TOKEN_EXPIRED (66): The delegation token is past its lifetime; create a new one."""

    CODE = 66


class InvalidPrincipalTypeError(ApiError):
    """INVALID_PRINCIPAL_TYPE (67): The request does not support this type of principal; use User."""

    CODE = 67


class GroupNotEmptyError(ApiError):
    """NON_EMPTY_GROUP (68): The group still has members, so it cannot be deleted; stop its consumers first."""

    CODE = 68


class GroupIdNotFoundError(ApiError):
    """GROUP_ID_NOT_FOUND (69): The group does not exist: it never committed an offset, or it has expired."""

    CODE = 69


class FetchSessionIdNotFoundError(RetriableError):
    """FETCH_SESSION_ID_NOT_FOUND (70): The broker dropped this fetch session to make room, or restarted; send a full
    fetch to begin a new one."""

    CODE = 70


class InvalidFetchSessionEpochError(RetriableError):
    """INVALID_FETCH_SESSION_EPOCH (71): The fetch session's epoch is not the next one expected, so a request was
    lost or doubled; begin a new session."""

    CODE = 71


class ListenerNotFoundError(InvalidMetadataError):
    """LISTENER_NOT_FOUND (72): The leader of the partition has no listener with the name of the listener that the
    client uses; the listeners of the brokers differ."""

    CODE = 72


class TopicDeletionDisabledError(ApiError):
    """TOPIC_DELETION_DISABLED (73): Deleting topics is switched off on this cluster (delete.topic.enable=false)."""

    CODE = 73


class FencedLeaderEpochError(InvalidMetadataError):
    """FENCED_LEADER_EPOCH (74): The client has an older leader epoch of this partition; fetch metadata first."""

    CODE = 74


class UnknownLeaderEpochError(RetriableError):
    """UNKNOWN_LEADER_EPOCH (75): The client has a newer leader epoch than this broker, which lags behind; try again
    shortly."""

    CODE = 75


class UnsupportedCompressionTypeError(ApiError):
    """UNSUPPORTED_COMPRESSION_TYPE (76): The batch is compressed with a codec that this API version cannot carry,
    such as zstd before Fetch 10 or Produce 7."""

    CODE = 76


class StaleBrokerEpochError(ApiError):
    """STALE_BROKER_EPOCH (77): The request has an epoch from before the broker's last registration; the broker was
    restarted or replaced."""

    CODE = 77


class OffsetNotAvailableError(RetriableError):
    """OFFSET_NOT_AVAILABLE (78): A new leader does not know yet how far its log is committed, so it cannot return
    offsets; try again shortly."""

    CODE = 78


class MemberIdRequiredError(ApiError):
    """MEMBER_ID_REQUIRED (79): The coordinator requires a member id; join again with the one that it sent."""

    CODE = 79


class PreferredLeaderNotAvailableError(InvalidMetadataError):
    """PREFERRED_LEADER_NOT_AVAILABLE (80): The replica preferred as leader is not up or not in sync, so leadership
    stays where it is."""

    CODE = 80


class GroupMaxSizeReachedError(ApiError):
    """GROUP_MAX_SIZE_REACHED (81): The group already has as many members as group.max.size allows."""

    CODE = 81


class FencedInstanceIdError(ApiError):
    """FENCED_INSTANCE_ID (82): Another consumer with the same group.instance.id replaced this one; two processes
    share one static id."""

    CODE = 82


class EligibleLeadersNotAvailableError(InvalidMetadataError):
    """ELIGIBLE_LEADERS_NOT_AVAILABLE (83): No replica that may become leader is up; bring one back, or allow an
    unclean election and lose data."""

    CODE = 83


class ElectionNotNeededError(InvalidMetadataError):
    """ELECTION_NOT_NEEDED (84): The partition already has the leader that the election would choose."""

    CODE = 84


class NoReassignmentInProgressError(ApiError):
    """NO_REASSIGNMENT_IN_PROGRESS (85): No reassignment of this partition is in progress."""

    CODE = 85


class GroupSubscribedToTopicError(ApiError):
    """GROUP_SUBSCRIBED_TO_TOPIC (86): The group is consuming this topic, so its offsets there cannot be deleted."""

    CODE = 86


class InvalidRecordError(ApiError):
    """INVALID_RECORD (87): The broker checked the records and refused the batch: no key on a compacted topic, a bad
    timestamp, or a broken layout."""

    CODE = 87


class UnstableOffsetCommitError(RetriableError):
    """UNSTABLE_OFFSET_COMMIT (88): An open transaction has offsets that were requested as stable; try again when it
    has ended."""

    CODE = 88


class ThrottlingQuotaExceededError(RetriableError):
    """THROTTLING_QUOTA_EXCEEDED (89): A quota is used up; wait as long as throttle_time_ms says."""

    CODE = 89


class ProducerFencedError(ApiError):
    """PRODUCER_FENCED (90): A newer producer with the same transactional id has taken over; this one must close."""

    CODE = 90


class ResourceNotFoundError(ApiError):
    """RESOURCE_NOT_FOUND (91): The request names a resource that does not exist, such as a user without credentials."""

    CODE = 91


class DuplicateResourceError(ApiError):
    """DUPLICATE_RESOURCE (92): The request names the same resource twice."""

    CODE = 92


class UnacceptableCredentialError(ApiError):
    """UNACCEPTABLE_CREDENTIAL (93): The new credential is not acceptable, for example too few SCRAM iterations."""

    CODE = 93


class InconsistentVoterSetError(ApiError):
    """INCONSISTENT_VOTER_SET (94): The controllers disagree about the voters of the quorum; compare
    controller.quorum.voters on all of them."""

    CODE = 94


class InvalidUpdateVersionError(ApiError):
    """INVALID_UPDATE_VERSION (95): The requested feature level is not a valid step from the current one."""

    CODE = 95


class FeatureUpdateFailedError(ApiError):
    """FEATURE_UPDATE_FAILED (96): The finalized features could not be changed; the log of the controller has the
    reason."""

    CODE = 96


class PrincipalDeserializationError(ApiError):
    """PRINCIPAL_DESERIALIZATION_FAILURE (97): A broker could not read the principal in a forwarded request; both
    must use a compatible principal builder."""

    CODE = 97


class SnapshotNotFoundError(ApiError):
    """SNAPSHOT_NOT_FOUND (98): The requested snapshot of the metadata log no longer exists; request a newer one."""

    CODE = 98


class PositionOutOfRangeError(ApiError):
    """POSITION_OUT_OF_RANGE (99): The read begins past the end of the snapshot."""

    CODE = 99


class UnknownTopicIdError(InvalidMetadataError):
    """UNKNOWN_TOPIC_ID (100): No topic has this id: it was deleted, recreated under the same name, or is not known
    here yet; fetch metadata."""

    CODE = 100


class DuplicateBrokerRegistrationError(ApiError):
    """DUPLICATE_BROKER_REGISTRATION (101): Another live broker is registered under this node id; two brokers share
    one node.id."""

    CODE = 101


class BrokerIdNotRegisteredError(ApiError):
    """BROKER_ID_NOT_REGISTERED (102): The controller does not know a broker with this id; it has not registered, or
    was unregistered."""

    CODE = 102


class InconsistentTopicIdError(InvalidMetadataError):
    """INCONSISTENT_TOPIC_ID (103): The topic id in the log differs from the one in the request: the topic was
    deleted and recreated."""

    CODE = 103


class InconsistentClusterIdError(ApiError):
    """INCONSISTENT_CLUSTER_ID (104): The request is meant for a cluster with another id; the client or broker points
    at the wrong cluster."""

    CODE = 104


class TransactionalIdNotFoundError(ApiError):
    """TRANSACTIONAL_ID_NOT_FOUND (105): The coordinator does not know the transactional id: it was never used, or
    has expired."""

    CODE = 105


class FetchSessionTopicIdError(RetriableError):
    """FETCH_SESSION_TOPIC_ID_ERROR (106): The fetch session began with topic names and continues with topic ids, or
    the reverse; begin a new session."""

    CODE = 106


class IneligibleReplicaError(ApiError):
    """INELIGIBLE_REPLICA (107): The replica may not join the in-sync set now: it is fenced, shutting down, or not
    registered."""

    CODE = 107


class NewLeaderElectedError(ApiError):
    """NEW_LEADER_ELECTED (108): The change of the in-sync set elected a new leader, so this broker no longer leads
    the partition."""

    CODE = 108


class OffsetMovedToTieredStorageError(ApiError):
    """OFFSET_MOVED_TO_TIERED_STORAGE (109): The offset is in remote storage only; a follower must build its state
    from there instead of fetching it."""

    CODE = 109


class FencedMemberEpochError(ApiError):
    """FENCED_MEMBER_EPOCH (110): The member's epoch is behind the coordinator's; drop all partitions and join with
    epoch 0."""

    CODE = 110


class UnreleasedInstanceIdError(ApiError):
    """UNRELEASED_INSTANCE_ID (111): The static member of this group.instance.id has not left yet; wait until it
    leaves or its session ends."""

    CODE = 111


class UnsupportedAssignorError(ApiError):
    """UNSUPPORTED_ASSIGNOR (112): The group cannot use the requested assignor; use one that the broker or all
    members support."""

    CODE = 112


class StaleMemberEpochError(ApiError):
    """STALE_MEMBER_EPOCH (113): The member has not caught up with its newest epoch; heartbeat, then try again."""

    CODE = 113


class MismatchedEndpointTypeError(ApiError):
    """MISMATCHED_ENDPOINT_TYPE (114): A client for brokers reached a controller, or the reverse; check
    bootstrap.servers and bootstrap.controllers."""

    CODE = 114


class UnsupportedEndpointTypeError(ApiError):
    """UNSUPPORTED_ENDPOINT_TYPE (115): This kind of endpoint cannot be described here."""

    CODE = 115


class UnknownControllerIdError(ApiError):
    """UNKNOWN_CONTROLLER_ID (116): The cluster has no controller with this id."""

    CODE = 116


class UnknownSubscriptionIdError(ApiError):
    """UNKNOWN_SUBSCRIPTION_ID (117): The telemetry subscription id is out of date; ask for the subscriptions again."""

    CODE = 117


class TelemetryTooLargeError(ApiError):
    """TELEMETRY_TOO_LARGE (118): The pushed metrics are larger than telemetry.max.bytes."""

    CODE = 118


class InvalidRegistrationError(ApiError):
    """INVALID_REGISTRATION (119): The controller refused the broker's registration: its listeners, directories or
    features do not fit."""

    CODE = 119


class TransactionAbortableError(ApiError):
    """TRANSACTION_ABORTABLE (120): The transaction cannot be committed, but the producer can continue: abort the
    transaction."""

    CODE = 120


class InvalidRecordStateError(ApiError):
    """INVALID_RECORD_STATE (121): The state of the record does not allow this acknowledgement, usually because its
    lock expired and another consumer got the record."""

    CODE = 121


class ShareSessionNotFoundError(RetriableError):
    """SHARE_SESSION_NOT_FOUND (122): The broker does not know this share session, or dropped it; begin a new one
    with epoch 0."""

    CODE = 122


class InvalidShareSessionEpochError(RetriableError):
    """INVALID_SHARE_SESSION_EPOCH (123): The share session's epoch is not the next one expected, so a request was
    lost or doubled; begin a new session."""

    CODE = 123


class FencedStateEpochError(ApiError):
    """FENCED_STATE_EPOCH (124): The coordinator's state was written by a newer epoch; read it again before writing."""

    CODE = 124


class InvalidVoterKeyError(ApiError):
    """INVALID_VOTER_KEY (125): The voter's id and directory id do not match those of the node that was asked."""

    CODE = 125


class DuplicateVoterError(ApiError):
    """DUPLICATE_VOTER (126): This node is already a voter of the quorum."""

    CODE = 126


class VoterNotFoundError(ApiError):
    """VOTER_NOT_FOUND (127): This node is not a voter of the quorum."""

    CODE = 127


class InvalidRegularExpressionError(ApiError):
    """INVALID_REGULAR_EXPRESSION (128): The subscription's pattern is not a valid regular expression (the broker
    reads RE2 syntax)."""

    CODE = 128


class RebootstrapRequiredError(ApiError):
    """REBOOTSTRAP_REQUIRED (129): The client's metadata of the cluster is not valid any more; start again from
    bootstrap.servers."""

    CODE = 129


class StreamsInvalidTopologyError(ApiError):
    """STREAMS_INVALID_TOPOLOGY (130): The topology that the Streams application sent is not valid."""

    CODE = 130


class StreamsInvalidTopologyEpochError(ApiError):
    """STREAMS_INVALID_TOPOLOGY_EPOCH (131): The Streams topology's epoch is not acceptable to the group."""

    CODE = 131


class StreamsTopologyFencedError(ApiError):
    """STREAMS_TOPOLOGY_FENCED (132): The Streams member has an older topology than its group; upgrade this instance."""

    CODE = 132


class ShareSessionLimitReachedError(RetriableError):
    """SHARE_SESSION_LIMIT_REACHED (133): The broker has as many share sessions as it allows; wait for one to end and
    try again."""

    CODE = 133


class GroupDeletionFailedError(ApiError):
    """GROUP_DELETION_FAILED (134): The coordinator could not delete the group; the error message of the response has
    the reason."""

    CODE = 134


class StreamsTopologyDescriptionUpdateFailedError(ApiError):
    """STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED (135): The broker could not store the description of the Streams
    topology; the error message of the response has the reason."""

    CODE = 135


class ControllerIdNotRegisteredError(ApiError):
    """CONTROLLER_ID_NOT_REGISTERED (136): No controller with this id is registered in the cluster."""

    CODE = 136


CorruptMessageError = CorruptRecordError
MessageTooLargeError = RecordTooLargeError
StaleControllerEpochError = ControllerMovedError
RecordListTooLargeError = RecordBatchTooLargeError
TopicAuthorizationFailedError = TopicAuthorizationError
GroupAuthorizationFailedError = GroupAuthorizationError
ClusterAuthorizationFailedError = ClusterAuthorizationError
TopicAlreadyExistsError = TopicExistsError
InvalidConfigError = InvalidConfigurationError
OutOfOrderSequenceNumberError = OutOfOrderSequenceError
DuplicateSequenceNumberError = DuplicateSequenceError
InvalidProducerIdMappingError = InvalidPidMappingError
InvalidTransactionTimeoutError = InvalidTxnTimeoutError
TransactionalIdAuthorizationFailedError = TransactionalIdAuthorizationError
SaslAuthenticationFailedError = SaslAuthenticationError
DelegationTokenAuthDisabledError = DelegationTokenDisabledError
DelegationTokenRequestNotAllowedError = UnsupportedByAuthenticationError
DelegationTokenAuthorizationFailedError = DelegationTokenAuthorizationError
NonEmptyGroupError = GroupNotEmptyError
PrincipalDeserializationFailureError = PrincipalDeserializationError
