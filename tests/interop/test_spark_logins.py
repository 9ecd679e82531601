"""TLS and SASL as Spark users write them, given to Spark's own Kafka connector and to ours.

Rules:
- Both read the same topic of Apache Kafka and of our broker, with the same options of Java, and write to it.
- A wrong login is refused by both. The one store that only Java reads is JKS, and ours names the conversion.
"""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key, pkcs12
from cryptography.x509 import load_pem_x509_certificate
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from tests.interop.secured_brokers import (
    ALLOWED,
    GOOD_LOGINS,
    WRONG_LOGINS,
    Login,
    SecuredBroker,
    SecuredKafka,
    SecuredPlace,
    token_endpoint,
)
from tests.interop.spark_connector import OURS, THEIRS, load, rows_of

from kafkawire.client import NewTopic
from kafkawire.client.blocking import Admin, Producer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession
    from tests.interop.apache_kafka import ApacheKafka

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]
PASSWORD = "store-s3cret"
# An expired token and one for others are refused as the token of a stranger is.
WRONG = ("PLAIN with a wrong password", "SCRAM-SHA-512 with an unknown user", "the token of a stranger", "another host")


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with token_endpoint() as url:
        yield url


@pytest.fixture(scope="module", params=["apache", "ours"])
def place(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, endpoint: str
) -> Iterator[SecuredPlace]:
    """A broker with three records in the topic `t`."""
    place = SecuredPlace(tmp_path_factory.mktemp(request.param), endpoint)
    jvm = spark._jvm
    assert jvm is not None
    jvm.java.lang.System.setProperty(f"{ALLOWED}.urls", endpoint)
    if request.param == "apache":
        kafka: ApacheKafka = request.getfixturevalue("kafka")
        broker: SecuredKafka | SecuredBroker = SecuredKafka(kafka, place)
    else:
        broker = SecuredBroker(place)
    broker.start()
    place.add_users()
    with Admin(bootstrap_servers=place.bootstrap("PLAINTEXT")) as admin:
        admin.create_topics([NewTopic("t", 1)])
    with Producer({"bootstrap.servers": place.bootstrap("PLAINTEXT")}) as producer:
        for number in range(3):
            producer.send("t", b"%d" % number).result(30)
    write_stores(place)
    yield place
    broker.stop()


def write_stores(place: SecuredPlace) -> None:
    """The authority and the certificate of ann as PKCS12, and as JKS where there is a keytool."""
    directory, lock = place.directory, BestAvailableEncryption(PASSWORD.encode())
    authority = load_pem_x509_certificate((directory / "ca.pem").read_bytes())
    trusted = [pkcs12.PKCS12Certificate(authority, b"ca")]
    (directory / "trust.p12").write_bytes(pkcs12.serialize_java_truststore(trusted, lock))
    both = (directory / "ann.pem").read_bytes()
    key = load_pem_private_key(both, None)
    certificate = load_pem_x509_certificate(both)
    content = pkcs12.serialize_key_and_certificates(b"ann", key, certificate, None, lock)  # type: ignore[arg-type]
    (directory / "ann.p12").write_bytes(content)
    keytool = shutil.which("keytool")
    if keytool is not None:
        command = [keytool, "-importkeystore", "-noprompt", "-deststoretype", "JKS"]
        places = ["-srckeystore", str(directory / "trust.p12"), "-destkeystore", str(directory / "trust.jks")]
        words = ["-srcstorepass", PASSWORD, "-deststorepass", PASSWORD]
        subprocess.run([*command, *places, *words], check=True, capture_output=True)


def stores(place: SecuredPlace) -> dict[str, dict[str, str]]:
    """The options of TLS in every form."""
    directory = place.directory
    p12 = {
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": str(directory / "trust.p12"),
        "ssl.truststore.password": PASSWORD,
    }
    pem = (directory / "ann.pem").read_text()
    end = pem.index("-----BEGIN CERTIFICATE")
    key, chain = (pem[:end], pem[end:]) if "PRIVATE KEY" in pem[:end] else (pem[pem.index("-----BEGIN PRI") :], pem)
    mutual = {"bootstrap.servers": place.bootstrap("MUTUAL"), "security.protocol": "SSL"}
    return {
        "PKCS12": {
            **mutual,
            **p12,
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": str(directory / "ann.p12"),
            "ssl.keystore.password": PASSWORD,
            "ssl.key.password": PASSWORD,
        },
        "inline": {
            **mutual,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": (directory / "ca.pem").read_text(),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": chain,
            "ssl.keystore.key": key,
        },
        "without the name of the host": {
            **p12,
            "bootstrap.servers": place.bootstrap("MISNAMED"),
            "security.protocol": "SSL",
            "ssl.endpoint.identification.algorithm": "",
        },
        "a version and a cipher": {
            **p12,
            "bootstrap.servers": place.bootstrap("TLS"),
            "security.protocol": "SSL",
            "ssl.enabled.protocols": "TLSv1.2",
            "ssl.cipher.suites": "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        },
    }


def read(spark: SparkSession, form: str, settings: Mapping[str, str]) -> list[bytes]:
    options = {f"kafka.{name}": value for name, value in settings.items()}
    found = rows_of(load(spark, form, settings["bootstrap.servers"], {"subscribe": "t", **options}))
    return [bytes(row[1]) for row in found.get(("t", 0), [])]


@pytest.mark.parametrize("name", GOOD_LOGINS)
def test_both_get_in(spark: SparkSession, place: SecuredPlace, name: str) -> None:
    settings = place.java(GOOD_LOGINS[name])
    assert [read(spark, form, settings)[:3] for form in (OURS, THEIRS)] == [[b"0", b"1", b"2"]] * 2


@pytest.mark.parametrize("name", ["PKCS12", "inline", "without the name of the host", "a version and a cipher"])
def test_both_read_the_stores(spark: SparkSession, place: SecuredPlace, name: str) -> None:
    settings = stores(place)[name]
    assert [read(spark, form, settings)[:3] for form in (OURS, THEIRS)] == [[b"0", b"1", b"2"]] * 2


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("form", [OURS, THEIRS])
def test_both_stay_out(spark: SparkSession, place: SecuredPlace, form: str, name: str) -> None:
    settings = {**place.java(WRONG_LOGINS[name]), "default.api.timeout.ms": "20000"}
    with pytest.raises((PySparkException, Py4JError)) as refused:
        read(spark, form, settings)
    assert "guessed" not in str(refused.value)
    assert "app-secret" not in str(refused.value)


def test_jks_is_read_by_theirs_and_ours_names_the_conversion(spark: SparkSession, place: SecuredPlace) -> None:
    if not (place.directory / "trust.jks").exists():
        pytest.skip("no keytool on the PATH")
    store = {"ssl.truststore.type": "JKS", "ssl.truststore.location": str(place.directory / "trust.jks")}
    settings = {**place.java(Login("TLS")), **store, "ssl.truststore.password": PASSWORD}
    assert read(spark, THEIRS, settings)[:3] == [b"0", b"1", b"2"]
    with pytest.raises(PySparkException, match=r"kafka\.ssl\.truststore\..*keytool -importkeystore"):
        read(spark, OURS, settings)
