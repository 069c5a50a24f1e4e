"""Models on encrypted data: decision trees and clustering."""
