//! Encrypted connections.

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use server::{Server, ServerOptions, TlsFiles};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_postgres::config::{ChannelBinding, SslMode};
use tokio_postgres::tls::{ChannelBinding as Binding, TlsConnect};
use tokio_postgres::{Client, Config};
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{
    CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error as TlsError, SignatureScheme,
};
use x509_certificate::{EcdsaCurve, KeyAlgorithm, X509CertificateBuilder};

use crate::fixture::{Fixture, database};
use crate::raw::Raw;
use crate::within::within;

/// A certificate that signs itself.
struct SelfSigned {
    folder: TempDir,
    der: Vec<u8>,
    digest: Vec<u8>,
}

impl SelfSigned {
    fn new() -> SelfSigned {
        let mut builder = X509CertificateBuilder::default();
        builder.subject().append_common_name_utf8_string("localhost").expect("a name");
        let algorithm = KeyAlgorithm::Ecdsa(EcdsaCurve::Secp256r1);
        let (certificate, key) = builder.create_with_random_keypair(algorithm).expect("a pair");
        let folder = TempDir::new().expect("a folder");
        let write = |name: &str, text: String| {
            std::fs::write(folder.path().join(name), text).expect("writable");
        };
        write("certificate.pem", certificate.encode_pem());
        write("key.pem", pem("PRIVATE KEY", &key.to_pkcs8_one_asymmetric_key_der()));
        let der = certificate.encode_der().expect("encodes");
        let digest = certificate.sha256_fingerprint().expect("a digest").as_ref().to_vec();
        SelfSigned { folder, der, digest }
    }

    fn files(&self) -> TlsFiles {
        let file = |name: &str| self.folder.path().join(name);
        TlsFiles { certificate: file("certificate.pem"), key: file("key.pem") }
    }

    /// A server that asks everybody for the password `open`.
    fn server(&self) -> Fixture {
        Fixture::with(ServerOptions {
            trust_loopback: false,
            password: Some("open".to_owned()),
            tls: Some(self.files()),
            ..ServerOptions::default()
        })
    }
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = base64(der);
    let lines: Vec<&str> =
        text.as_bytes().chunks(64).map(|l| std::str::from_utf8(l).expect("ASCII")).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte))
            << (8 * (3 - group.len()));
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at) & 63) as usize];
            out.push(if at <= group.len() { letter.into() } else { '=' });
        }
    }
    out
}

/// Takes one certificate only.
#[derive(Debug)]
struct Exactly {
    der: Vec<u8>,
    provider: CryptoProvider,
}

impl ServerCertVerifier for Exactly {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        match certificate.as_ref() == self.der {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(CertificateError::UnknownIssuer.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// What tokio-postgres needs to encrypt a stream.
struct Connector {
    connector: tokio_rustls::TlsConnector,
    digest: Vec<u8>,
}

impl Connector {
    fn new(certificate: &SelfSigned, digest: Vec<u8>) -> Connector {
        let provider = ring::default_provider();
        let verifier = Exactly { der: certificate.der.clone(), provider: provider.clone() };
        let config = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Connector { connector: Arc::new(config).into(), digest }
    }
}

impl TlsConnect<TcpStream> for Connector {
    type Stream = Encrypted;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted>> + Send>>;

    fn connect(self, stream: TcpStream) -> Self::Future {
        Box::pin(async move {
            let name = ServerName::try_from("localhost").expect("a name");
            let stream = self.connector.connect(name, stream).await?;
            Ok(Encrypted { stream, digest: self.digest })
        })
    }
}

struct Encrypted {
    stream: tokio_rustls::client::TlsStream<TcpStream>,
    digest: Vec<u8>,
}

impl tokio_postgres::tls::TlsStream for Encrypted {
    fn channel_binding(&self) -> Binding {
        match self.digest.is_empty() {
            true => Binding::none(),
            false => Binding::tls_server_end_point(self.digest.clone()),
        }
    }
}

impl AsyncRead for Encrypted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// A client that insists on encryption.
async fn connect(
    server: &Fixture,
    connector: Connector,
    password: &str,
    binding: ChannelBinding,
) -> Result<Client, tokio_postgres::Error> {
    let mut config = Config::new();
    config.user("shareddb").dbname("shareddb").password(password);
    config.ssl_mode(SslMode::Require).channel_binding(binding);
    let stream = TcpStream::connect(server.address).await.expect("somebody listens");
    let connected = within("an answer", config.connect_raw(stream, connector)).await;
    let (client, connection) = connected?;
    tokio::spawn(connection);
    Ok(client)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_encrypted_client_is_served_like_any_other() {
    let certificate = SelfSigned::new();
    let server = certificate.server();
    let connector = || Connector::new(&certificate, certificate.digest.clone());
    let client =
        connect(&server, connector(), "open", ChannelBinding::Require).await.expect("comes in");
    within("an answer", client.batch_execute("CREATE TABLE t (a integer PRIMARY KEY, b text)"))
        .await
        .expect("creates");
    let long = "x".repeat(300_000);
    within("an answer", client.execute("INSERT INTO t VALUES (1, $1), (2, NULL)", &[&long]))
        .await
        .expect("inserts");
    let rows = within("an answer", client.query("SELECT b FROM t ORDER BY a", &[]))
        .await
        .expect("answers");
    assert_eq!(rows[0].get::<_, &str>(0), long);
    let series = "SELECT i, repeat('y', 100) FROM generate_series(1, 20000) AS s(i)";
    assert_eq!(
        within("an answer", client.query(series, &[])).await.expect("answers").len(),
        20_000
    );
    let fault = within("an answer", client.query("SELECT 1 / (a - 1) FROM t", &[]))
        .await
        .expect_err("divides by 0");
    assert_eq!(fault.code().expect("a state").code(), "22012");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn passwords_are_asked_for_with_and_without_a_binding() {
    let certificate = SelfSigned::new();
    let server = certificate.server();
    let unbound = || Connector::new(&certificate, Vec::new());
    connect(&server, unbound(), "open", ChannelBinding::Disable).await.expect("comes in");
    let wrong = connect(&server, unbound(), "shut", ChannelBinding::Disable).await;
    assert_eq!(wrong.err().and_then(|e| e.code().cloned()).expect("refused").code(), "28P01");
    // Somebody in between has another certificate.
    let other = Connector::new(&certificate, vec![7; 32]);
    assert!(connect(&server, other, "open", ChannelBinding::Require).await.is_err());
}

#[test]
fn clients_in_the_clear_are_served_too() {
    let certificate = SelfSigned::new();
    let tls = Some(certificate.files());
    let server = Fixture::with(ServerOptions { tls, ..ServerOptions::default() });
    assert_eq!(server.connect().column("SELECT 1"), ["1"]);
    // Whoever asks and then speaks in the clear is nobody's client.
    let mut raw = Raw::open(server.address);
    raw.packet(&80_877_103u32.to_be_bytes());
    assert_eq!(raw.read_byte(), b'S');
    raw.startup(&[("user", "shareddb"), ("database", "shareddb")]);
    assert!(raw.try_read().is_none_or(|message| message.tag != b'R'));
    assert_eq!(server.connect().column("SELECT 1"), ["1"]);
}

#[test]
fn data_behind_the_request_is_not_believed() {
    let certificate = SelfSigned::new();
    let tls = Some(certificate.files());
    let server = Fixture::with(ServerOptions { tls, ..ServerOptions::default() });
    let mut raw = Raw::open(server.address);
    let mut both = vec![0, 0, 0, 8];
    both.extend(80_877_103u32.to_be_bytes());
    both.extend(b"\0\0\0\x20 somebody else said this");
    raw.bytes(&both);
    assert_eq!(raw.read_byte(), b'S');
    let refusal = raw.read();
    assert_eq!((refusal.tag, refusal.field(b'C').as_deref()), (b'E', Some("08P01")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_at_fault_are_named() {
    let certificate = SelfSigned::new();
    let good = certificate.files();
    let bind = async |certificate: &Path, key: &Path| {
        let tls = Some(TlsFiles { certificate: certificate.into(), key: key.into() });
        let options =
            ServerOptions { listen: "127.0.0.1:0".to_owned(), tls, ..ServerOptions::default() };
        Server::bind(options, database()).await.map(drop).expect_err("refused").message.clone()
    };
    let missing = certificate.folder.path().join("missing.pem");
    assert!(bind(&missing, &good.key).await.contains("missing.pem"));
    assert!(bind(&good.certificate, &missing).await.contains("missing.pem"));
    assert!(bind(&good.key, &good.key).await.contains("key.pem"));
    assert!(bind(&good.certificate, &good.certificate).await.contains("certificate.pem"));
    let other = SelfSigned::new();
    assert!(bind(&good.certificate, &other.files().key).await.contains("key.pem"));
}
