//! TLS: a certificate and its key as files in, encrypted streams out.
//!
//! A client asks for encryption by SSLRequest before anything else (`connection::startup`); a server that was given no
//! certificate says `N` and goes on in the clear, as PostgreSQL does. Called by `listener` (files) and `connection`
//! (handshakes). Absent here: who may come in; certificates of clients, which nobody asks for.

use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use engine::types::{Error, Result, SqlState};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;

use crate::authentication::can_bind;

/// Where the server's certificate lies: PEM files, as OpenSSL and certbot write them.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate, and those that lead to its authority.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// What encrypts connections.
#[derive(Clone)]
pub struct Tls {
    acceptor: tokio_rustls::TlsAcceptor,
    /// The certificate as PEM, where SCRAM can bind its proof to it.
    certificate: Option<Arc<[u8]>>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads the files. A fault names the file at fault.
    pub fn open(files: &TlsFiles) -> Result<Tls> {
        let text = read(&files.certificate)?;
        let chain = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|error| unusable(&files.certificate, &error))?;
        if chain.is_empty() {
            return Err(unusable(&files.certificate, &"there is no certificate in it"));
        }
        let key = PrivateKeyDer::from_pem_slice(&read(&files.key)?);
        let key = key.map_err(|error| unusable(&files.key, &error))?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(&files.certificate, &error))?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|error| unusable(&files.key, &error))?;
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
        let certificate = can_bind(&text).then(|| text.into());
        Ok(Tls { acceptor, certificate })
    }

    /// The certificate as PEM, where SCRAM can bind its proof to it: signatures without a hash of their own cannot.
    pub fn certificate(&self) -> Option<&[u8]> {
        self.certificate.as_deref()
    }

    /// The server's side of a handshake.
    pub async fn accept(&self, stream: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
        self.acceptor.accept(stream).await
    }
}

fn read(file: &Path) -> Result<Vec<u8>> {
    std::fs::read(file).map_err(|error| unusable(file, &error))
}

fn unusable(file: &Path, why: &dyn std::fmt::Display) -> Error {
    let message = format!("cannot use \"{}\" for TLS: {why}", file.display());
    Error::new(SqlState::IoError, message)
}

/// A client's stream, encrypted or not.
#[derive(Debug)]
pub enum Stream {
    /// As it comes.
    Plain(TcpStream),
    /// After a handshake.
    Encrypted(Box<TlsStream<TcpStream>>),
    /// During one, and after one that failed.
    Closed,
}

impl Stream {
    /// The socket below.
    pub fn socket(&self) -> Option<&TcpStream> {
        match self {
            Stream::Plain(stream) => Some(stream),
            Stream::Encrypted(stream) => Some(stream.get_ref().0),
            Stream::Closed => None,
        }
    }
}

fn closed<T>() -> Poll<std::io::Result<T>> {
    Poll::Ready(Err(std::io::ErrorKind::NotConnected.into()))
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Stream::Encrypted(stream) => Pin::new(stream.as_mut()).poll_read(context, buffer),
            Stream::Closed => closed(),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Encrypted(stream) => Pin::new(stream.as_mut()).poll_write(context, bytes),
            Stream::Closed => closed(),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_write_vectored(context, parts),
            Stream::Encrypted(stream) => {
                Pin::new(stream.as_mut()).poll_write_vectored(context, parts)
            }
            Stream::Closed => closed(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(context),
            Stream::Encrypted(stream) => Pin::new(stream.as_mut()).poll_flush(context),
            Stream::Closed => closed(),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Encrypted(stream) => Pin::new(stream.as_mut()).poll_shutdown(context),
            Stream::Closed => closed(),
        }
    }
}
