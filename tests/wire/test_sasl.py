"""SASL from the client's side: the examples of the RFCs, and servers that misbehave."""

import pytest

from kafkawire.wire.sasl import SaslError, ScramClient, sasl_client

NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
CLIENT_FINAL = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def scram() -> ScramClient:
    return ScramClient("SCRAM-SHA-256", "user", "pencil", NONCE)


def test_scram_sha_256_exchanges_what_rfc_7677_shows() -> None:
    client = scram()
    assert client.first() == b"n,,n=user,r=" + NONCE.encode()
    assert client.answer(SERVER_FIRST) == CLIENT_FINAL
    assert not client.done
    assert client.answer(SERVER_FINAL) == b""
    assert client.done


def test_plain_sends_everything_in_its_first_message() -> None:
    client = sasl_client("PLAIN", "zoë", "pass,word=")
    assert client.first() == b"\0zo\xc3\xab\0pass,word="
    assert client.done


def test_plain_expects_no_challenge() -> None:
    with pytest.raises(SaslError, match="expected no challenge, found 1 bytes"):
        sasl_client("PLAIN", "a", "b").answer(b"?")


def test_a_name_with_separators_is_escaped() -> None:
    assert ScramClient("SCRAM-SHA-512", "a=b,c", "x", "n").first() == b"n,,n=a=3Db=2Cc,r=n"


def test_each_exchange_has_a_nonce_of_its_own() -> None:
    assert sasl_client("SCRAM-SHA-256", "a", "b").first() != sasl_client("SCRAM-SHA-256", "a", "b").first()


@pytest.mark.parametrize(
    ("challenge", "complaint"),
    [
        (b"r=another,s=AAAA,i=4096", "nonce to continue ours, found 'another'"),
        (b"r=" + NONCE.encode() + b",s=AAAA,i=4096", "nonce to continue ours"),
        (SERVER_FIRST.replace(b"i=4096", b"i=1"), "1 iterations, expected 4096 to 1000000"),
        (SERVER_FIRST.replace(b"i=4096", b"i=999999999"), "999999999 iterations"),
        (SERVER_FIRST.replace(b"i=4096", b"i=many"), "a number of iterations, found 'many'"),
        (SERVER_FIRST.replace(b"s=W22", b"s=!"), "the salt in base64"),
        (b"m=ext," + SERVER_FIRST, "an unknown extension"),
        (b"\xff\xfe", "expected text, found fffe"),
        (b"hello", "attributes such as r=..., found 'hello'"),
        (b"", "attributes such as r=..., found ''"),
    ],
)
def test_a_first_challenge_that_makes_no_sense_is_refused(challenge: bytes, complaint: str) -> None:
    with pytest.raises(SaslError, match=complaint.replace("...", r"\.\.\.")):
        scram().answer(challenge)


@pytest.mark.parametrize(
    ("challenge", "complaint"),
    [
        (b"e=invalid-proof", "the server refuses: invalid-proof"),
        (b"v=AAAA", "the server does not know the password"),
        (b"v=?", "the proof in base64"),
    ],
)
def test_a_server_that_cannot_prove_itself_is_refused(challenge: bytes, complaint: str) -> None:
    client = scram()
    client.answer(SERVER_FIRST)
    with pytest.raises(SaslError, match=complaint):
        client.answer(challenge)
    assert not client.done


def test_an_unknown_mechanism_is_refused_with_those_there_are() -> None:
    with pytest.raises(SaslError, match="'GSSAPI': expected one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"):
        sasl_client("GSSAPI", "a", "b")


def test_a_password_that_plain_cannot_carry_is_refused() -> None:
    with pytest.raises(SaslError, match="cannot contain NUL"):
        sasl_client("PLAIN", "a", "b\0c")
